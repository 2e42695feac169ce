package apps

import (
	"net/netip"
	"strconv"
	"strings"
)

// origin is a whole origin as a content security policy can name it.
type origin struct {
	scheme   string // lower case
	host     string // lower case, without the wildcard
	port     string // canonical decimal, that of the scheme when none is written
	wildcard bool   // *.host
	ipv6     bool
}

// parseOrigin reads scheme://host[:port] and nothing more. It works on bytes and spells its classes out: the host
// and the schemes are ASCII, so no homoglyph, quote, separator, space, path or userinfo gets through, and what is
// accepted is one source expression of a policy. It neither repairs nor shortens anything.
func parseOrigin(s string) (origin, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return origin{}, false
	}
	o := origin{scheme: asciiLower(scheme)}
	switch o.scheme {
	case "http", "ws":
		o.port = "80"
	case "https", "wss":
		o.port = "443"
	default:
		return origin{}, false
	}
	if strings.HasPrefix(rest, "[") {
		return o.withIPv6(rest)
	}
	host, port, hasPort := strings.Cut(rest, ":")
	if hasPort && !o.setPort(port) {
		return origin{}, false
	}
	host, o.wildcard = strings.CutPrefix(host, "*.")
	o.host = asciiLower(host)
	if !validHost(o.host, o.wildcard) {
		return origin{}, false
	}
	return o, true
}

func (o origin) withIPv6(rest string) (origin, bool) {
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return origin{}, false
	}
	if port, hasPort := strings.CutPrefix(rest[end+1:], ":"); hasPort {
		if !o.setPort(port) {
			return origin{}, false
		}
	} else if rest[end+1:] != "" {
		return origin{}, false
	}
	addr, err := netip.ParseAddr(rest[1:end])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return origin{}, false
	}
	o.host, o.ipv6 = "["+addr.String()+"]", true
	return o, true
}

func (o *origin) setPort(s string) bool {
	if len(s) == 0 || len(s) > 5 || strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		return false
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return false
	}
	o.port = strconv.Itoa(n)
	return true
}

// validHost accepts a DNS name of ASCII letters, digits and hyphens, in lower case, and of IPv4 addresses only
// 127.0.0.1: policies match no other, and a browser reads more spellings of addresses than are worth knowing here.
func validHost(host string, wildcard bool) bool {
	if len(host) == 0 || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !validLabel(label) {
			return false
		}
	}
	if wildcard && len(labels) < 2 {
		return false // every name under a top-level domain is no origin of the app's
	}
	last := labels[len(labels)-1]
	if last[0] >= '0' && last[0] <= '9' {
		return host == "127.0.0.1" && !wildcard
	}
	return true
}

func validLabel(label string) bool {
	if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// asciiLower lowers A to Z and nothing else; Unicode's rules would turn the Kelvin sign into a k.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}

// covers reports whether a policy that names o lets a page reach target, whatever the scheme: the host is the
// same or lies under the wildcard, and so does the port.
func (o origin) covers(target origin) bool {
	if o.port != target.port && (o.port != "80" || target.port != "443") {
		return false // port 80 covers 443: policies let http be upgraded
	}
	if target.host == "localhost" && strings.HasSuffix(o.host, ".localhost") {
		return true // every name under localhost is this machine
	}
	if o.wildcard {
		return strings.HasSuffix(target.host, "."+o.host)
	}
	return o.host == target.host
}
