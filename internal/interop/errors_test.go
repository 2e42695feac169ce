package interop_test

import (
	"errors"

	"github.com/usher-mcp/usher/client"
)

func asError(err error, e **client.Error) bool { return errors.As(err, e) }

func hint(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

func stderr(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Stderr
	}
	return ""
}
