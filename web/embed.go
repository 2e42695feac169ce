// Package web holds the WebShell as the daemon serves it: the built page, embedded, so that the Go toolchain
// alone makes the whole product. The source is in web/src; `npm run build` makes web/dist from it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Dist returns the built page: index.html at its root, and assets/ whose names change with their content.
func Dist() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		// fs.Sub fails only on a path that is not valid, and this one is a constant.
		panic(err)
	}
	return sub
}
