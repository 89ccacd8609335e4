package jackline

// A Check is one thing that a doctor has looked at.
type Check struct {
	ID    string     `json:"id"`    // short and stable: "store", "engine.ollama"
	Title string     `json:"title"` // what was looked at, in a few words
	State CheckState `json:"state" enum:"ok,warn,fail,unknown"`
	Text  string     `json:"text"` // what was found, in sentences
	Fix   string     `json:"fix"`  // what to do about it; empty where nothing is to be done
}

// CheckState is what a check found.
type CheckState string

// The states of checks.
const (
	CheckOK      CheckState = "ok"
	CheckWarn    CheckState = "warn"    // it works, but not as well as it could
	CheckFail    CheckState = "fail"    // something does not work
	CheckUnknown CheckState = "unknown" // it could not be looked at
)

// Health is how the program and what it stands on are doing.
type Health struct {
	OK     bool    `json:"ok"` // no check failed
	Checks []Check `json:"checks"`
}

// HealthOf sums checks up.
func HealthOf(checks []Check) Health {
	h := Health{OK: true, Checks: checks}
	for _, c := range checks {
		h.OK = h.OK && c.State != CheckFail
	}
	if h.Checks == nil {
		h.Checks = []Check{}
	}
	return h
}
