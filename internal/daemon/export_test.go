package daemon

// Statuses is the table from an error's code to its HTTP status.
func Statuses() map[string]int { return statusOf }
