package ushertest

import "io"

func serveHTTP(*options, *recorder, io.Reader, io.Writer) int { return 2 }
