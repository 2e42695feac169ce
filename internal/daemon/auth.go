package daemon

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// MinToken is the least length of a bearer token, in characters.
	MinToken = 26
	// codeLife is how long a one-time code is good, maxCodes how many may wait to be used.
	codeLife = 10 * time.Minute
	maxCodes = 16
	// cookieLife is how long a browser stays logged in.
	cookieLife = 30 * 24 * time.Hour
)

// LoadToken reads the bearer token from a file, or makes one and keeps it there, readable by its owner only. The same
// token holds until the file is deleted.
func LoadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeToken(path)
	case err != nil:
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < MinToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s holds no token: delete it, and the next start makes a new one", path)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return "", fmt.Errorf("keeping the token to its owner: %w", err)
	}
	return token, nil
}

func makeToken(path string) (token string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("making a place for the token: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("keeping the token: %w", err)
	}
	token = rand.Text() + rand.Text()
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("keeping the token: %w", err), os.Remove(path))
	}
	return token, nil
}

// keys check who a request is from. They hold no state: what they accept, they accept after a restart as well.
type keys struct {
	token  [sha256.Size]byte // of the bearer token
	cookie []byte            // the key that cookies are signed with
	// name of the cookie. Browsers send one host's cookies to all its ports, so the name tells daemons apart.
	name string
}

func newKeys(token string, port int) keys {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("usher cookie 1"))
	return keys{token: sha256.Sum256([]byte(token)), cookie: mac.Sum(nil), name: "usher_" + strconv.Itoa(port)}
}

// bearer checks the Authorization header. given says whether there is one.
func (k keys) bearer(r *http.Request) (given, ok bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return false, false
	}
	scheme, token, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return true, strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], k.token[:]) == 1
}

const (
	cookieNonce = 16
	cookieBytes = 8 + cookieNonce + sha256.Size
)

// newCookie logs a browser in.
func (k keys) newCookie(now time.Time) *http.Cookie {
	value := binary.BigEndian.AppendUint64(nil, uint64(now.Add(cookieLife).Unix())) //nolint:gosec // long after 1970
	nonce := make([]byte, cookieNonce)
	_, _ = rand.Read(nonce) // never fails
	value = append(value, nonce...)
	value = append(value, k.sign(value)...)
	return &http.Cookie{
		Name: k.name, Value: base64.RawURLEncoding.EncodeToString(value), Path: "/",
		MaxAge: int(cookieLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func (k keys) cookieOK(r *http.Request, now time.Time) bool {
	for _, c := range r.CookiesNamed(k.name) {
		value, err := base64.RawURLEncoding.DecodeString(c.Value)
		if err != nil || len(value) != cookieBytes {
			continue
		}
		signed, mac := value[:8+cookieNonce], value[8+cookieNonce:]
		if hmac.Equal(mac, k.sign(signed)) && now.Unix() < int64(binary.BigEndian.Uint64(signed)) { //nolint:gosec // signed by us
			return true
		}
	}
	return false
}

func (k keys) sign(value []byte) []byte {
	mac := hmac.New(sha256.New, k.cookie)
	mac.Write(value)
	return mac.Sum(nil)
}

// codes are the one-time codes that wait to be used. Only their hashes are kept.
type codes struct {
	mu      sync.Mutex
	waiting []code // the oldest first
}

type code struct {
	sum     [sha256.Size]byte
	expires time.Time
}

// mint makes a code. The oldest of too many stops working.
func (c *codes) mint() (text string, expires time.Time) {
	text = rand.Text() + rand.Text()
	expires = time.Now().Add(codeLife)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= maxCodes {
		c.waiting = c.waiting[1:]
	}
	c.waiting = append(c.waiting, code{sum: sha256.Sum256([]byte(text)), expires: expires})
	return text, expires
}

// use reports whether a code is good, and makes it useless.
func (c *codes) use(text string) bool {
	sum := sha256.Sum256([]byte(text))
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, good := c.waiting[:0], false
	for _, one := range c.waiting {
		switch {
		case subtle.ConstantTimeCompare(sum[:], one.sum[:]) == 1:
			good = now.Before(one.expires)
		case now.Before(one.expires):
			kept = append(kept, one)
		}
	}
	c.waiting = kept
	return good
}
