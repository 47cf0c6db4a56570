package main

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

func TestRedeemLoadUsesEachUserOnce(t *testing.T) {
	seen := make([]bool, redeemUsers+1)
	for n := range int64(redeemUsers) {
		user := shuffled(n)
		if user < 1 || user > redeemUsers || seen[user] {
			t.Fatalf("request %d is for user %d, who does not exist or was used before", n, user)
		}
		seen[user] = true
	}
}

func TestARedeemRequestIsHTTP(t *testing.T) {
	for _, withKeys := range []bool{false, true} {
		request := redeemRequest("secret", func(int64) string { return "hot-0003" }, withKeys)
		for _, n := range []int64{0, 399_999} {
			read, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request(nil, n))))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(read.Body)
			if err != nil || !strings.HasPrefix(string(body), `{"user_id":"u-`) ||
				!strings.HasSuffix(string(body), `"}`) {
				t.Errorf("the body is %s, %v", body, err)
			}
			if read.URL.Path != "/v2/partners/perks/hot-0003/redeem" ||
				read.Header.Get("Authorization") != "Bearer secret" {
				t.Errorf("it requests %s as %q", read.URL.Path, read.Header.Get("Authorization"))
			}
			if key := read.Header.Get("Idempotency-Key"); (key != "") != withKeys {
				t.Errorf("the key is %q", key)
			}
		}
	}
}

func TestCountByCountsRecordsNotLines(t *testing.T) {
	counts, err := countBy("perk_id", strings.NewReader("id,perk_id,metadata\n1,tea,\"{\n}\"\n2,cake,{}\n3,tea,{}\n"))
	if err != nil || !maps.Equal(counts, map[string]int64{"tea": 2, "cake": 1}) {
		t.Errorf("the counts are %v, %v", counts, err)
	}
	if _, err := countBy("perk", strings.NewReader("id,perk_id\n")); err == nil {
		t.Error("a column that is missing is counted")
	}
}
