package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/server/listen"
	"example.com/perks/store"
)

var findingTable = table[store.Finding]{
	columns: []string{"CHECK", "OUTCOME", "FOUND", "ADVICE"},
	cells: func(f store.Finding) []string {
		return []string{f.Check, string(f.Outcome), f.Found, f.Advice}
	},
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the database, its server, its settings and this machine",
		Long: "Check the database, its server, its settings and this machine. It changes nothing, and what it\n" +
			"prints has no secrets.\n\n" +
			"The exit code is 1 if a check failed. A warning is what works now and may break a promise; the advice\n" +
			"says how to mend it. Whether a server is ready, 'perksd health' asks.",
		Example: "  perksd doctor\n  perksd doctor --database postgres://perks@db.example/perks -o json",
		Args:    arguments(),
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		db, err := p.target(cmd.Context())
		if err != nil {
			return err
		}
		findings := append(inspectProgram(), inspectDatabase(cmd.Context(), db)...)
		if err := findingTable.print(p.stdout, output.value, sequence(findings, nil)); err != nil {
			return err
		}
		failed := 0
		for _, f := range findings {
			if f.Outcome == store.Failed {
				failed++
			}
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d checks failed", failed, len(findings))
		}
		return nil
	}
	return cmd
}

// inspectProgram checks this program and what the system lets it do.
func inspectProgram() []store.Finding {
	files := store.Finding{Check: "open files", Outcome: store.OK,
		Found: fmt.Sprintf("at most %d", listen.MaxOpenFiles())}
	if wanted := 2 * serveDefaults(nil).connections; listen.MaxOpenFiles() < wanted {
		files.Outcome = store.Warning
		files.Advice = fmt.Sprintf("a busy server needs %d: LimitNOFILE of its unit, or ulimit -n", wanted)
	}
	program := fmt.Sprintf("%s, %s/%s", api.Build().Version, runtime.GOOS, runtime.GOARCH)
	return []store.Finding{{Check: "perksd", Outcome: store.OK, Found: program}, files}
}

// inspectDatabase makes each check that the ones before it allow.
func inspectDatabase(ctx context.Context, db database) []store.Finding {
	fail := func(check string, err error) store.Finding {
		return store.Finding{Check: check, Outcome: store.Failed, Found: err.Error()}
	}
	if err := requireMigrated(ctx, db); err != nil {
		return []store.Finding{fail("database", err)}
	}
	findings := []store.Finding{{Check: "database", Outcome: store.OK,
		Found: db.name() + " has this program's version"}}
	for _, part := range []struct {
		name  string
		check func(context.Context) ([]store.Finding, error)
	}{{"settings", db.settings}, {"server", db.inspect}} {
		found, err := part.check(ctx)
		if err != nil {
			found = []store.Finding{fail(part.name, err)}
		}
		findings = append(findings, found...)
	}
	return findings
}
