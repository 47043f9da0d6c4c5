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
)

// get requests an address as the commands do.
func get(t *testing.T, target string) string {
	t.Helper()
	u, err := Parse(target, "/debug/page")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Explain(err, u).Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	reason, _, _ := strings.Cut(string(text), "\n")
	return ExplainStatus(response.StatusCode, reason, u, "the handler")
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

func TestExplainStatus(t *testing.T) {
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
		if got := ExplainStatus(test.code, test.reason, u, "the handler"); !strings.HasPrefix(got, test.want) {
			t.Errorf("%d %q: %s, want %s", test.code, test.reason, got, test.want)
		}
	}
}
