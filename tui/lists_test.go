package tui_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// newest makes perks, the first one the newest, that were added so long before now.
func newest(name string, n int, before time.Duration) []store.PerkRecord {
	perks := make([]store.PerkRecord, n)
	for i := range perks {
		perks[i].ID, perks[i].Title = fmt.Sprintf("%s-%d", name, i+1), fmt.Sprintf("%s %d", name, i+1)
		perks[i].CreatedAt = time.Now().Add(-before - time.Duration(i)*time.Second)
	}
	return perks
}

// TestAPageOfNewRowsIsNoRepeatedPage adds as many perks as are read at once, before the next page is read.
func TestAPageOfNewRowsIsNoRepeatedPage(t *testing.T) {
	server := servertest.Start(t)
	server.ImportPerks(newest("Old", 200, time.Hour)...)
	d := tuitest.Start(t, server)
	d.Commands = map[string]func(string){
		"add many": func(string) { server.ImportPerks(newest("New", 50, 0)...) },
	}
	d.Play(`
		=> row 1 of 200
		settle
		add many:
		settle pgdown settle pgdown settle pgdown settle => Old 52
		=> ≠ sent a page again
		` + strings.Repeat("pgdown settle\n", 12) + ` => > Old 200 | ≠ sent a page again
		R settle G => row 250 of 250 | > Old 200
		settle g => > New 1`)
}
