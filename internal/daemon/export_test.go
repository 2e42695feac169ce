package daemon

import (
	"net/http"
	"time"
)

// Statuses is the table from an error's code to its HTTP status.
func Statuses() map[string]int { return statusOf }

// Codes are one-time codes.
type Codes struct{ codes }

// Mint makes a code.
func (c *Codes) Mint() string {
	code, _ := c.mint()
	return code
}

// Use uses a code.
func (c *Codes) Use(code string) bool { return c.use(code) }

// Cookies makes and checks cookies.
type Cookies struct{ keys }

// NewCookies are those of a daemon.
func NewCookies(token string, port int) Cookies { return Cookies{newKeys(token, port)} }

// New makes a cookie.
func (c Cookies) New() *http.Cookie { return c.newCookie(time.Now()) }

// OK checks a cookie.
func (c Cookies) OK(cookie *http.Cookie) bool {
	r := &http.Request{Header: http.Header{}}
	r.AddCookie(cookie)
	return c.cookieOK(r, time.Now())
}
