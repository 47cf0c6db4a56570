package cli_test

import (
	"os"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/specserver"
)

// TestOtherServersIsTrue runs what docs/other-servers.md says, as far as no other test does.
func TestOtherServersIsTrue(t *testing.T) {
	const redeem, update = "perk redeem perk-001 --user user-001", "property update 1 --title x -o json"
	fails := func(request string, status int) []specserver.Fault {
		return []specserver.Fault{{Request: request, Reply: specserver.ReplyStatus, Status: status}}
	}
	endless := freedoms{NoLinks: true, NoTotal: true, Meta: specserver.MetaNone}
	for _, test := range []struct {
		freedoms
		faults   []specserver.Fault
		commands string // of which the last one counts
		code     int
		says     string
		document string // says so
	}{
		{freedoms{}, []specserver.Fault{{Request: specserver.Redeems}}, redeem, 8, "--idempotency-key",
			"lost exits with 8, and prints the command to check"},
		{freedoms{}, []specserver.Fault{{Request: specserver.Updates}}, "property update 1 --title x", 8,
			"perksctl property get 1", "exit code 8, and the command that shows the listing"},
		{endless, nil, "perk list --all", 1, "whether there are more pages", "exit code 1 after the first page"},
		{endless, nil, "perk list --page 2", 0, "Offer 026", "ask for pages with `--page`"},
		{freedoms{IgnoresPage: true}, nil, "perk list --all", 1, "would not end", "a server that ignores `page`"},
		{freedoms{}, nil, redeem + " --dry-run", 0, "can probably redeem", "`--dry-run` guesses"},
		{freedoms{}, nil, "user can user-001 perk-001", 5, "no check of eligibility", "`user can` exits with 5"},
		{freedoms{NewStatus: specserver.StatusEmpty}, nil, redeem, 0, "", "| `approved`, or empty | exit code 0 |"},
		{freedoms{NewStatus: specserver.StatusPending}, nil, redeem, 0, "pending", "| `pending` | exit code 0 |"},
		{freedoms{NewStatus: specserver.StatusRejected}, nil, redeem, 1, "rejected", "| `rejected` | exit code 1 |"},
		{freedoms{NewStatus: specserver.StatusUnknown}, nil, redeem, 8, "fulfilled", "| any other | exit code 8 |"},
		{freedoms{NewStatus: specserver.StatusPending}, nil, redeem + " --wait", 5, "no addresses of redemptions",
			"them it exits with 5, and the redemption stays"},
		{freedoms{OncePerUser: true, RefusalCode: 422}, nil, redeem + ";" + redeem + " -o json", 1, "http_422",
			"400 or 422 because the user has redeemed the perk exits with 1"},
		{freedoms{OncePerUser: true}, nil, redeem + ";" + redeem + " -o json", 6, "http_409", "| 409, 412 | 6 |"},
		{freedoms{}, nil, "property delete 6 --yes -o json", 4, "http_403", "| 401, 403 | 4 |"},
		{freedoms{}, nil, "property get 77 -o json", 5, "http_404", "| 404 | 5 |"},
		{freedoms{}, fails(specserver.Updates, 500), update, 8, "http_500", "| 5xx, or no reply | 8 |"},
		{freedoms{}, fails(specserver.Updates, 400), update, 1, "http_400", "| 400, 422, 429 and others | 1 |"},
		{freedoms{Elsewhere: specserver.ElsewhereLanding}, nil, "redemption list", 1, "Edge 200",
			"show that page's title and exit with 1"},
	} {
		j := atSpecification(t, specserver.Options{Freedoms: test.freedoms, Faults: test.faults})
		var r result
		for command := range strings.SplitSeq(test.commands, ";") {
			r = j.run(strings.Fields(command)...)
		}
		if r.code != test.code || !strings.Contains(r.out+r.err, test.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", test.commands, r.code, test.code, test.says, r.out+r.err)
		}
		document, err := os.ReadFile("../docs/other-servers.md")
		if err != nil || !strings.Contains(string(document), test.document) {
			t.Errorf("docs/other-servers.md does not say %q: %v", test.document, err)
		}
	}
}
