package interop_test

import (
	"errors"

	"github.com/usher-mcp/usher/client"
)

func asError(err error, e **client.Error) bool { return errors.As(err, e) }

func hint(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Hint
	}
	return ""
}

func stderr(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Stderr
	}
	return ""
}
