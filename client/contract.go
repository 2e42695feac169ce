package client

import "time"

// Negotiation tells how a session's era was chosen.
type Negotiation struct {
	Policy  string // legacy or auto
	Probed  bool
	Verdict string // modern, incompatible, legacy, inconclusive; empty without a probe
	Reason  string
	Probe   time.Duration // how long the probe took
}

// CompletionRef names what is completed: a prompt's argument or a resource template's variable.
type CompletionRef struct {
	Prompt   string // name of a prompt, or
	Template string // a URI template
}

// Completion is the answer to completion/complete: at most 100 values.
type Completion struct {
	Values  []string
	Total   *int64
	HasMore bool
}
