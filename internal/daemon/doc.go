// Package daemon is the HTTP server between sessions and the programs that show them: the WebShell, the command line,
// and whatever else speaks the API.
//
// Everything it serves is in one table of routes; the mux, the OpenAPI document and the tests of the guard are made from
// it. Loopback is taken for hostile: before any route the request's Host has to be one of the daemon's own names, which
// a page that rebinds its own name to 127.0.0.1 does not have; before a route of the API its Origin has to be absent or
// the daemon's own, so that neither another page nor an app in its opaque frame gets through; then the bearer token or
// the browser's cookie is asked for; then the body has to be JSON. No route sends a CORS header.
package daemon
