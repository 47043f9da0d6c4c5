package livepage

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// getAs sends a GET request for a host to h. Its context is done, so that a
// stream ends after one event.
func getAs(h http.Handler, host, query string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/debug/sluice?"+query, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Without names of its own, a handler answers only requests for an address or
// for this machine.
func TestHosts(t *testing.T) {
	for host, allowed := range map[string]bool{
		"": true, "localhost": true, "localhost:6060": true, "LocalHost:6060": true, "localhost.": true, "localhost.:6060": true,
		"orders.localhost:6060": true, "127.0.0.1": true, "127.0.0.1:6060": true, "10.1.2.3:80": true,
		"[::1]": true, "[::1]:6060": true, "[fe80::1%25eth0]:6060": true, "::1": true,

		// Rebinding: these names may resolve to 127.0.0.1.
		"evil.example": false, "evil.example:6060": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"127.0.0.1.nip.io:6060": false, "evillocalhost": false, "xn--localhost-.example": false,
		// No addresses: a browser turns these spellings into 127.0.0.1 before it sends them.
		"2130706433": false, "0x7f000001": false, "127.1": false, "0177.0.0.1": false,
		// Malformed.
		"localhost@evil.example": false, "evil.example#localhost": false, "localhost evil.example": false,
		"evil.example:80:localhost": false, "[evil.example]": false, "localhost..": false, "127.0.0.1\x00.evil.example": false,
		"devbox": false, "orders.prod.svc": false,
	} {
		w := getAs(Handler(), host, "format=json")
		if allowed != (w.Code == http.StatusOK) {
			t.Errorf("%q: %d %s", host, w.Code, w.Body)
		}
		if !allowed && (w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "DNS rebinding") || strings.Count(w.Body.String(), "\n") != 1) {
			t.Errorf("%q: %d %q, want 403 and the reason in one line", host, w.Code, w.Body)
		}
	}
}

// The program may allow names, all names below a domain, or every name.
func TestAllowedHosts(t *testing.T) {
	for _, test := range []struct {
		allowed   string
		yes, noes []string
	}{
		{"orders.internal", []string{"orders.internal", "Orders.Internal.:6060", "127.0.0.1"}, []string{"internal", "x.orders.internal", "orders.internal.evil.example", "ordersxinternal"}},
		{"Orders.Internal.", []string{"orders.internal"}, []string{"evil.example"}},
		{"*.prod.svc", []string{"orders.prod.svc:6060", "a.b.prod.svc", "[::1]:80"}, []string{"prod.svc", "xprod.svc", "prod.svc.evil.example"}},
		{"*", []string{"evil.example", "devbox:80"}, nil},
	} {
		h := Handler("other", test.allowed)
		for _, host := range test.yes {
			if w := getAs(h, host, "format=json"); w.Code != http.StatusOK {
				t.Errorf("%s: %s is answered with %d %s", test.allowed, host, w.Code, w.Body)
			}
		}
		for _, host := range test.noes {
			if w := getAs(h, host, "format=json"); w.Code != http.StatusForbidden {
				t.Errorf("%s: %s is answered with %d", test.allowed, host, w.Code)
			}
		}
	}
}

// A refused request learns nothing, whatever it asks for, and the answer names
// the argument that would allow it, without the port.
func TestForeignHostLearnsNothing(t *testing.T) {
	for _, query := range []string{"", "format=json", "format=events", "format=js", "format=css", "channel=1&format=json", "nonsense"} {
		w := getAs(Handler(), "orders.prod.svc:6060", query)
		want := "sluice: host \"orders.prod.svc\" is refused, as a guard against DNS rebinding: request an IP address or localhost, or allow the name in the program with livepage.Handler(\"orders.prod.svc\")\n"
		if w.Code != http.StatusForbidden || w.Body.String() != want {
			t.Errorf("%q: %d %q", query, w.Code, w.Body)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" {
			t.Errorf("%q: the refusal has type %s", query, kind)
		}
	}
	if w := getAs(Handler(), strings.Repeat("a", 9000)+"<script>", ""); len(w.Body.String()) > 500 || strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("a long host is answered with %d bytes", len(w.Body.String()))
	}
}

// Over a connection, the header decides, and not what proxies add to it.
func TestForeignHostOverHTTP(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	for host, want := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		r, err := http.NewRequest(http.MethodGet, server.URL+"?format=json", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host // empty: the address
		r.Header.Set("X-Forwarded-Host", "localhost")
		r.Header.Set("Forwarded", "host=localhost")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != want {
			t.Errorf("%q: %d %s, %v", host, answer.StatusCode, text, err)
		}
		answer.Body.Close()
	}
}

func TestInvalidHosts(t *testing.T) {
	for _, host := range []string{"", "http://orders", "orders:6060", "orders/", "a b", "*orders", "*.", "**", "a.*.b", ".orders"} {
		for function, call := range map[string]func(){
			"livepage.Handler: ":  func() { Handler("fine", host) },
			"livepage.Register: ": func() { Register(http.NewServeMux(), host) },
		} {
			func() {
				defer func() {
					if said, _ := recover().(string); !strings.HasPrefix(said, function+"invalid host ") {
						t.Errorf("%q: %q", host, said)
					}
				}()
				call()
			}()
		}
	}
}

// Register serves both spellings of the path with one handler, and nothing
// below it.
func TestRegister(t *testing.T) {
	mux := http.NewServeMux()
	Register(mux, "orders.internal")
	for path, want := range map[string]int{
		"/debug/sluice": http.StatusOK, "/debug/sluice/": http.StatusOK, "/debug/sluice/?format=json": http.StatusOK, "/debug/sluice?format=json": http.StatusOK,
		"/debug/sluice/x": http.StatusNotFound, "/debug": http.StatusNotFound, "/debug/sluices": http.StatusNotFound,
	} {
		for host, refused := range map[string]bool{"localhost:6060": false, "orders.internal": false, "evil.example": want == http.StatusOK} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if refused && w.Code != http.StatusForbidden || !refused && w.Code != want {
				t.Errorf("%s%s: %d, want %d, or 403 for a foreign host", host, path, w.Code, want)
			}
		}
	}
}
