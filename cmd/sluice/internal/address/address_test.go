package address

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/redact"
)

func TestParse(t *testing.T) {
	const page = "/debug/page"
	for target, want := range map[string]string{
		"localhost:6060":               "http://localhost:6060/debug/page",
		":6060":                        "http://localhost:6060/debug/page",
		"[::1]:6060":                   "http://[::1]:6060/debug/page",
		"http://h:1/":                  "http://h:1/debug/page",
		"http://h:1/#x":                "http://h:1/debug/page",
		"https://h/other":              "https://h/other",
		"http://user:secret@h:1/?a=b":  "http://h:1/debug/page",
		"http://user:secret@h:1/a?b=c": "http://h:1/a",
		"user:secret@h:1":              "http://h:1/debug/page",
		"user:secret@h":                "http://h/debug/page",
		"secret@h:1":                   "http://h:1/debug/page",
	} {
		u, err := Parse(target, page)
		if err != nil || redact.URL(u) != want || !Like(target) {
			t.Errorf("%s: %v, %v, Like: %v, want %s", target, u, err, Like(target), want)
		}
	}
	if u, err := Parse("h:1?a=b", page); err != nil || u.RawQuery != "a=b" {
		t.Errorf("query of %v, %v", u, err)
	}
}

func TestParseErrors(t *testing.T) {
	for target, want := range map[string]string{
		"ftp://h:1/":              `unsupported scheme "ftp" (want host:port, or a URL such as http://host:port/debug/page)`,
		"http://":                 "the address has no host",
		"":                        "the address has no host",
		"http://user:secret@h:x/": "invalid URL: in a password",
		"user:1/secret@h":         "invalid URL: in a password",
		"http:// h":               "invalid URL (want host:port",
	} {
		u, err := Parse(target, "/debug/page")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, want %q", target, u, err, want)
		}
	}
}

func TestFileNamesAreNotLikeAddresses(t *testing.T) {
	for _, name := range []string{"cpu.pprof", "a/b", "C:folder", "file:0", "file:99999", "host", "cpu@2.pprof", "a@b/c:d", ""} {
		if Like(name) {
			t.Errorf("%q", name)
		}
	}
}

// get requests an address as the commands do.
func get(t *testing.T, target string) string {
	t.Helper()
	u, err := Parse(target, "/debug/page")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = NewClient("test", "the handler", nil, new(http.Transport)).Get(ctx, u, 100)
	return err.Error()
}

// raw serves connections without HTTP.
func raw(t *testing.T, answer string) (host string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connection.Read(make([]byte, 1))
			io.WriteString(connection, answer)
			connection.Close()
		}
	}()
	return listener.Addr().String()
}

func TestExplain(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	const unused = "127.0.0.1:1" // another process may get the port of a listener that was closed
	for target, want := range map[string]string{
		unused:                         "connection refused: nothing listens on " + unused + ". Is the service running, and is this its port?",
		host(plain):                    "status 404 Not Found: does the service register the handler at /debug/page, on this port?",
		"https://" + host(plain):       "the service does not use TLS on this port: request http://" + host(plain),
		host(secure):                   "the service uses TLS on this port: request https://" + host(secure),
		"https://" + host(secure):      "the certificate is not trusted (",
		raw(t, ""):                     "connection closed without a response: is ",
		raw(t, "220 mail.example\r\n"): "the response is not HTTP: is ",
		"nosuchhost..invalid:1":        "no address is known for the host nosuchhost..invalid", // an empty label: no server is asked
	} {
		if got := get(t, "http://user:secret@"+strings.TrimPrefix(target, "https://")); !strings.HasPrefix(target, "https") && !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
		if got := get(t, target); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

func TestExplainTimeout(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "h:1"}
	err := Explain(&url.Error{Op: "Get", URL: "http://user:secret@h:1", Err: context.DeadlineExceeded}, u)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "no response in time: is the host right") {
		t.Errorf("%v", err)
	}
	other := errors.New("another")
	if got := Explain(&url.Error{Op: "Get", URL: "http://h", Err: other}, u); got != other {
		t.Errorf("%v", got)
	}
}

func TestStatusError(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "h:1", Path: "/p"}
	for _, test := range []struct {
		code   int
		reason string
		want   string
	}{
		{403, "", "status 403 Forbidden: the service or a proxy refuses this host name or client."},
		{403, "not you", "status 403 Forbidden: not you"},
		{401, "no", "status 401 Unauthorized: pass user and password as http://USER:PASSWORD@h:1"},
		{503, "", "status 503 Service Unavailable: a proxy does not reach the service."},
		{500, "", "status 500 Internal Server Error"},
	} {
		if got := (&StatusError{test.code, test.reason, u, "the handler"}).Error(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%d %q: %s, want %s", test.code, test.reason, got, test.want)
		}
	}
}
