package store

// Outcome is how serious a Finding is.
type Outcome string

// The outcomes of a check.
const (
	OK         Outcome = "ok"
	Warning    Outcome = "warning"     // it works, but a promise may be broken, or will be
	Failed     Outcome = "failed"      // something is wrong
	NotChecked Outcome = "not checked" // the role or the system does not show it
)

// Finding is what a check of a database or a server found. It contains no secrets.
type Finding struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	Found   string  `json:"found"`
	Advice  string  `json:"advice"` // the command or the setting that mends it; "" if there is nothing to do
}
