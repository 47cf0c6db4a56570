package main

// tour is a working day: support staff redeem, a property manager edits, and a script reads.
func tour() []step {
	return []step{
		{
			say:     "Browse: filters, an order, and a page of the answer.",
			command: []string{"perksctl", "perk", "list", "--city", "Berlin", "--sort", "title", "--per-page", "5", "--limit", "5"},
			expect:  []string{"Berlin"},
		},
		{
			say:     "Near a place: within 3 km, the nearest first.",
			command: []string{"perksctl", "perk", "list", "--near", "52.52,13.405", "--radius", "3", "--sort", "distance", "--limit", "5"},
		},
		{
			say:     "The categories, for a program: every command speaks JSON.",
			command: []string{"perksctl", "perk", "categories", "-o", "json", "--jq", "[.[].category_name] | sort | .[0:5]"},
			expect:  []string{"["},
		},
		{
			say:     "One perk, whole.",
			command: []string{"perksctl", "perk", "get", "coffee-2for1"},
			expect:  []string{"coffee-2for1"},
		},
		{
			say:     "Redeem it for a user, with a note of where.",
			command: []string{"perksctl", "perk", "redeem", "coffee-2for1", "--user", "alice", "--metadata", "till=7"},
			expect:  []string{"approved"},
		},
		{
			say:     "Nobody redeems the same perk twice: the second try is refused with exit code 6.",
			command: []string{"perksctl", "perk", "redeem", "coffee-2for1", "--user", "alice"},
			exit:    6,
			expect:  []string{"already"},
		},
		{
			say:     "A perk that the operator approves by hand redeems to pending.",
			command: []string{"perksctl", "perk", "redeem", "spa-day", "--user", "alice"},
			expect:  []string{"pending"},
		},
		{
			say:     "What alice has redeemed, the newest first.",
			command: []string{"perksctl", "user", "perks", "alice", "--type", "redeemed"},
			expect:  []string{"coffee-2for1", "spa-day"},
		},
		{
			say:     "A night's job: every row of a file, here from standard input, with a result for each.",
			command: []string{"perksctl", "perk", "redeem", "--file", "-", "--results", "winners.results.jsonl"},
			input:   "perk_id,user_id,metadata.campaign\ncoffee-2for1,bob,autumn\nspa-day,bob,autumn\n",
			expect:  []string{"2 rows: 2 done"},
		},
		{
			say:     "The same command again does nothing twice: a job that was killed resumes like this.",
			command: []string{"perksctl", "perk", "redeem", "--file", "-", "--results", "winners.results.jsonl"},
			input:   "perk_id,user_id,metadata.campaign\ncoffee-2for1,bob,autumn\nspa-day,bob,autumn\n",
			expect:  []string{"2 of them by an earlier run"},
		},
		{
			say:     "The operator sees what waits.",
			command: []string{"perksd", "redemption", "list", "--status", "pending"},
			expect:  []string{"spa-day"},
		},
		{
			say:     "A property manager looks at a listing,",
			command: []string{"perksctl", "property", "get", "1"},
		},
		{
			say:     "changes its title and its weekly price, whose digits stay as they are typed,",
			command: []string{"perksctl", "property", "update", "1", "--title", "Sunny loft by the river", "--set", "price_pw=410.50"},
			expect:  []string{"Updated property 1"},
		},
		{
			say:     "and sees the change.",
			command: []string{"perksctl", "property", "get", "1", "--fields", "propertyId,title,price_pw"},
			expect:  []string{"Sunny loft by the river", "410.50"},
		},
		{
			say:     "Where something does not work, the doctor says why.",
			command: []string{"perksctl", "doctor"},
			expect:  []string{"credentials", "scopes"},
		},
		{
			say:     "A value that breaks a rule is named, and nothing is changed.",
			command: []string{"perksctl", "property", "update", "1", "--set", "bedrooms=-1", "--set", "lat=91"},
			exit:    2,
			expect:  []string{"bedrooms", "lat"},
		},
		{
			say:     "What does not exist is said plainly: exit code 5.",
			command: []string{"perksctl", "perk", "get", "no-such-perk"},
			exit:    5,
			expect:  []string{"no-such-perk"},
		},
		{
			say:     "Every change to a listing is in the operator's audit log, as it was before and after.",
			command: []string{"perksd", "audit", "--subject", "property/1", "-o", "jsonl"},
			expect:  []string{"property.update"},
		},
	}
}
