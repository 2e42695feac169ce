package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// DefaultAddr is where the daemon listens when nothing else is said.
const DefaultAddr = "127.0.0.1:8765"

// portTries is how often a free port is looked for that is free on both loopback addresses.
const portTries = 20

// ListenError is why the daemon cannot listen.
type ListenError struct {
	Addr    string
	Message string
	Hint    string // the next step for the person
	Err     error
}

func (e *ListenError) Error() string { return e.Addr + ": " + e.Message }
func (e *ListenError) Unwrap() error { return e.Err }

// Listeners are the sockets of one port.
type Listeners struct {
	all  []net.Listener
	host string // as the address of the WebShell names it
	port int
	// loopback: 127.0.0.1, [::1] and localhost on the port lead here, or nowhere.
	loopback bool
	swap     bool
}

// Listen opens addr, HOST:PORT; port 0 is any free one. For 127.0.0.1, [::1] and localhost both loopback addresses are
// opened on the port, since a browser may use either for "localhost". Any other address than a loopback one needs
// allowRemote. Errors are *[ListenError].
func Listen(ctx context.Context, addr string, allowRemote bool) (*Listeners, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &ListenError{Addr: addr, Message: "this is no HOST:PORT", Hint: "Write --addr " + DefaultAddr, Err: err}
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return nil, &ListenError{Addr: addr, Message: fmt.Sprintf("%q is no port", portText), Hint: "A port is a number from 0 to 65535; 0 takes any free one."}
	}
	ip, parseErr := netip.ParseAddr(host)
	switch {
	case host == "localhost", parseErr == nil && (ip == ipv4Loopback || ip == ipv6Loopback):
		return listenLoopback(ctx, host, ip, port)
	case parseErr == nil && ip.IsLoopback():
	case !allowRemote:
		return nil, &ListenError{
			Addr: addr, Message: "this address may be reached from other machines",
			Hint: "If you want that, add --allow-remote: everyone who has the token can then run your tools, and what is sent is not encrypted.",
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, listenError(addr, err)
	}
	if host == "" || parseErr == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return &Listeners{
		all: []net.Listener{l}, host: host, port: portOf(l),
		// On every address there is loopback too, and as one socket serves both, the swap of the sandbox is safe there.
		loopback: host == "localhost", swap: host == "localhost" && ip != netip.IPv4Unspecified(),
	}, nil
}

var (
	ipv4Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	ipv6Loopback = netip.IPv6Loopback()
)

func listenLoopback(ctx context.Context, host string, ip netip.Addr, port int) (*Listeners, error) {
	first, second := ipv4Loopback, ipv6Loopback
	if ip == ipv6Loopback {
		first, second = second, first
	}
	for try := 0; ; try++ {
		l, err := listenOn(ctx, first, port)
		if err != nil {
			return nil, listenError(netip.AddrPortFrom(first, uint16(port)).String(), err) //nolint:gosec // checked by Listen
		}
		found := &Listeners{all: []net.Listener{l}, host: host, port: portOf(l), loopback: true}
		if ip == ipv6Loopback {
			found.host = "[::1]"
		}
		other, err := listenOn(ctx, second, found.port)
		switch {
		case err == nil:
			found.all, found.swap = append(found.all, other), true
			return found, nil
		case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
			// This machine has no such address, so nobody else can answer there.
			found.swap = true
			return found, nil
		case port == 0 && try < portTries:
			if err := l.Close(); err != nil {
				return nil, listenError(l.Addr().String(), err)
			}
		default:
			return found, nil // another program answers there: the page has to do without app frames
		}
	}
}

func listenOn(ctx context.Context, ip netip.Addr, port int) (net.Listener, error) {
	network := "tcp4"
	if ip.Is6() {
		network = "tcp6"
	}
	return new(net.ListenConfig).Listen(ctx, network, net.JoinHostPort(ip.String(), strconv.Itoa(port)))
}

func listenError(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &ListenError{
			Addr: addr, Message: "the port is in use", Err: err,
			Hint: "If that is another usher serve, use it: usher open. Else choose another port, such as --addr 127.0.0.1:0 for any free one.",
		}
	case errors.Is(err, syscall.EACCES):
		return &ListenError{Addr: addr, Message: "this port is not yours to use", Hint: "Choose a port above 1023.", Err: err}
	default:
		return &ListenError{Addr: addr, Message: err.Error(), Hint: "Choose an address of this machine, such as " + DefaultAddr + ".", Err: err}
	}
}

func portOf(l net.Listener) int {
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		return addr.Port
	}
	return 0
}

// Close closes the sockets; Serve does it too.
func (l *Listeners) Close() error {
	var errs []error
	for _, one := range l.all {
		if err := one.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Addr is the address as HOST:PORT, with the port that was found.
func (l *Listeners) Addr() string { return l.host + ":" + strconv.Itoa(l.port) }

// URL is the origin of the WebShell.
func (l *Listeners) URL() string { return "http://" + l.authority(l.host) }

// Port is the port.
func (l *Listeners) Port() int { return l.port }

// SandboxSwap says whether the page may load app frames from the other loopback name: nobody else answers there.
func (l *Listeners) SandboxSwap() bool { return l.swap }

// authority is a Host header for a name of ours. Browsers leave out port 80.
func (l *Listeners) authority(name string) string {
	if l.port == 80 {
		return name
	}
	return name + ":" + strconv.Itoa(l.port)
}

func (l *Listeners) baseContext(ctx context.Context) func(net.Listener) context.Context {
	return func(net.Listener) context.Context { return ctx }
}

// names are what the daemon may be asked by: the values of Host that are its own.
type names struct {
	hosts     []string // lower case
	listeners *Listeners
}

func newNames(l *Listeners, further []string) names {
	n := names{listeners: l}
	add := func(host string) {
		if host = strings.ToLower(host); host != "" && !slices.Contains(n.hosts, host) {
			n.hosts = append(n.hosts, host)
		}
	}
	if l.loopback {
		for _, name := range []string{"127.0.0.1", "localhost", "[::1]"} {
			add(l.authority(name))
		}
	} else {
		name := l.host
		if strings.Contains(name, ":") && !strings.HasPrefix(name, "[") {
			name = "[" + name + "]"
		}
		add(l.authority(name))
	}
	for _, name := range further {
		add(name)
		if _, _, err := net.SplitHostPort(name); err != nil {
			add(l.authority(name))
		}
	}
	return n
}

func (n names) allowed(host string) bool { return slices.Contains(n.hosts, strings.ToLower(host)) }

// origins are the origins that a page of ours can have.
func (n names) origins() []string {
	var origins []string
	for _, host := range n.hosts {
		origins = append(origins, "http://"+host)
	}
	return origins
}

// sandboxOrigin is where a page on the given host loads app frames from: the other loopback name, "" if there is none
// that is safe.
func (n names) sandboxOrigin(host string) string {
	if !n.listeners.swap {
		return ""
	}
	u, err := url.Parse("http://" + host)
	if err != nil || host != n.listeners.authority(strings.TrimSuffix(host, ":"+u.Port())) {
		return ""
	}
	switch u.Hostname() {
	case "127.0.0.1", "::1":
		return "http://" + n.listeners.authority("localhost")
	case "localhost":
		return "http://" + n.listeners.authority("127.0.0.1")
	default:
		return ""
	}
}
