// Package archtest holds the tests of the repository's own rules: which package may import which, what the public
// packages may depend on and show, that every package says why it exists, and that documents name what is there.
package archtest
