package specserver

// unmet are the expectations that our client does not meet yet. Each takes what fails out of the mixtures: delete one
// and see it fail.
var unmet = []struct {
	expectation string
	without     func(*Freedoms)
}{
	{"a file may name perks and users by any id that perk redeem takes", func(f *Freedoms) {
		f.IDs = IDsPlain
	}},
}

// Met leaves out of a mixture what our client does not meet yet.
func (f Freedoms) Met() Freedoms {
	for _, u := range unmet {
		u.without(&f)
	}
	return f
}

// Honest leaves out a server that repeats idempotency keys but ignores them: clients take a repeated key as proof.
func (f Freedoms) Honest() Freedoms {
	f.EchoesKeys = f.EchoesKeys && f.Keys == KeysHonoured
	return f
}
