package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// one requests a page of the service at target, of at most limit bytes.
func one(t *testing.T, target string, o Options, limit int64) ([]byte, error) {
	t.Helper()
	s, err := At(target, o)
	if err != nil {
		return nil, err
	}
	s.left.Store(maxBytes)
	defer s.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return s.get(ctx, "page", limit)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	newAuthority(t).save(t, ca)
	for _, test := range []struct {
		target, want string // of a page
		ca           string
		target2      string // Target
	}{
		{"h:1", "http://h:1/debug/pprof/page", "", "http://h:1/debug/pprof"},
		{":6060", "http://localhost:6060/debug/pprof/page", "", "http://localhost:6060/debug/pprof"},
		{"http://u:secret@h:1/?token=x", "http://u:secret@h:1/debug/pprof/page", "", "http://h:1/debug/pprof"},
		{"http://h/a/debug/pprof/heap?debug=1", "http://h/a/debug/pprof/page", "", "http://h/a/debug/pprof"},
		{"http://h/other", "http://h/other/page", "", "http://h/other"},
		{"unix:/run/a.sock", "http://localhost/debug/pprof/page", "", "unix:/run/a.sock"},
		{"unix:///run/a.sock", "http://localhost/debug/pprof/page", "", "unix:/run/a.sock"},
		{"unix:a\x1b[2J.sock", "http://localhost/debug/pprof/page", "", `unix:a\x1b[2J.sock`},
		{"h:1", "https://h:1/debug/pprof/page", ca, "https://h:1/debug/pprof"},
		{":1", "https://localhost:1/debug/pprof/page", ca, "https://localhost:1/debug/pprof"},
		{"unix:/run/a.sock", "https://localhost/debug/pprof/page", ca, "unix:/run/a.sock"},
	} {
		s, err := At(test.target, Options{CAFile: test.ca})
		if err != nil {
			t.Errorf("%s: %v", test.target, err)
			continue
		}
		if got := s.page("page").String(); got != test.want || s.Target() != test.target2 {
			t.Errorf("%s: page %s, target %s", test.target, got, s.Target())
		}
	}
	s, err := At("h:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{s.page(flowPage).String(), s.page(during("profile", 1500*time.Millisecond)).String()} {
		if got != "http://h:1/debug/sluice?format=flow" && got != "http://h:1/debug/pprof/profile?seconds=1.5" {
			t.Error(got)
		}
	}
}

func TestAddressErrors(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	newAuthority(t).save(t, ca)
	for _, test := range []struct {
		target string
		o      Options
		want   string
	}{
		{"ftp://h:1", Options{}, "unsupported scheme"},
		{"unix:", Options{}, "the address has no socket (want unix:/path/to.sock)"},
		{"http://h:1", Options{CAFile: ca}, "a certificate requires an address of https"},
		{"h:1", Options{CertFile: "c"}, "a client certificate requires its file and the file of its key"},
		{"h:1", Options{CertFile: empty, KeyFile: empty}, "empty.pem: tls: failed to find"},
		{"h:1", Options{CAFile: empty}, "empty.pem: no certificate in PEM form"},
	} {
		if _, err := At(test.target, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.target, err, test.want)
		}
	}
	if _, err := At("h:1", Options{CAFile: "no such file"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestPages: what misbehaving services answer.
func TestPages(t *testing.T) {
	t.Parallel()
	const limit = 1000
	answer := func(header, value string, text []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.Write(text)
		}
	}
	status := func(code int, media, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			io.WriteString(w, text)
		}
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close) // when all parallel subtests have ended
	for name, test := range map[string]struct {
		page http.HandlerFunc
		want string // error
		size int
	}{
		"whole": {answer("X", "", make([]byte, limit)), "", limit},
		"large": {answer("X", "", make([]byte, limit+1)), "response larger than 0.001 MB", limit},
		"empty": {answer("X", "", nil), "empty response", 0},
		"HTML":  {answer("Content-Type", "text/html; charset=utf-8", []byte("<html>")), "the response is a web page", 0},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "response larger than 0.001 MB", limit},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "x")
		}, "incomplete response: the connection ended early", 0},
		"404":       {http.NotFound, "status 404 Not Found: does the service register net/http/pprof at /debug/pprof/page, on this port? A mux of its own needs", 0},
		"401":       {status(401, "text/plain", "who?"), `as http://USER:PASSWORD@HOST (-header "Authorization: Bearer TOKEN" passes a token)`, 0},
		"403":       {status(403, "text/html", "no"), `Bearer TOKEN" passes a token`, 0},
		"403 why":   {status(403, "text/plain; charset=utf-8", "only for root\nand others"), "status 403 Forbidden: only for root", 0},
		"500":       {status(500, "text/plain", "Could not enable CPU profiling: cpu profiling already in use\n"), "cpu profiling already in use", 0},
		"elsewhere": {http.RedirectHandler(elsewhere.URL, http.StatusFound).ServeHTTP, "refused a redirect to http://127.0.0.1", 0},
		"a circle":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "more than 3 redirects", 0},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, "?again", http.StatusFound)
				return
			}
			io.WriteString(w, r.Header.Get("X-Token"))
		}, "", len("secret")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.page)
			defer server.Close()
			data, err := one(t, server.URL, Options{Header: http.Header{"X-Token": {"secret"}}}, limit)
			want := strings.ReplaceAll(test.want, "HOST", server.Listener.Addr().String())
			if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) || len(data) != test.size {
				t.Errorf("%d bytes, %v, want %d, %q", len(data), err, test.size, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		io.WriteString(w, "x")
	}))
	defer server.Close()
	header := http.Header{}
	header.Set("Host", "orders.internal:80")
	header.Add("X-A", "1")
	header.Add("X-A", "2")
	if _, err := one(t, strings.Replace(server.URL, "//", "//user:word@", 1), Options{Header: header}, 100); err != nil {
		t.Fatal(err)
	}
	if user, word, _ := got.BasicAuth(); got.Host != "orders.internal:80" || len(got.Header["X-A"]) != 2 || user != "user" || word != "word" || got.UserAgent() != "sluice-doctor" {
		t.Errorf("%s %v", got.Host, got.Header)
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b")
	if _, err := one(t, "unix:"+path, Options{}, 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.URL.Path) }))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	for host, want := range map[string]string{"": "localhost/debug/pprof/page", "orders:80": "orders:80/debug/pprof/page", "a/b": "/debug/pprof/page"} {
		header := http.Header{}
		if host != "" {
			header.Set("Host", host)
		}
		if data, err := one(t, "unix:"+path, Options{Header: header}, 100); err != nil || string(data) != want {
			t.Errorf("%s %v", data, err)
		}
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	server.Close()
	if _, err := one(t, "unix:"+path, Options{}, 100); err == nil || !strings.Contains(err.Error(), "nothing listens on the socket "+path) {
		t.Errorf("%v", err)
	}
}

// An authority signs certificates.
type authority struct {
	pair   tls.Certificate
	parsed *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	return new(authority).sign(t, &x509.Certificate{IsCA: true, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true})
}

// sign signs a certificate, or lets it sign itself.
func (a *authority) sign(t *testing.T, c *x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := c, any(key)
	if a.parsed != nil {
		parent, by = a.parsed, a.pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed}
}

// save writes the certificate, and the key to name.key.
func (a *authority) save(t *testing.T, name string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(a.pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name: {Type: "CERTIFICATE", Bytes: a.pair.Certificate[0]}, name + ".key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificates: a service that wants a certificate, and has one for the name
// orders.internal.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir := t.TempDir()
	own, other := filepath.Join(dir, "ca"), filepath.Join(dir, "other")
	ca.save(t, own)
	newAuthority(t).save(t, other)
	client := filepath.Join(dir, "client")
	ca.sign(t, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}).save(t, client)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	pool := x509.NewCertPool()
	pool.AddCert(ca.parsed)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		Certificates: []tls.Certificate{ca.sign(t, &x509.Certificate{DNSNames: []string{"orders.internal"}}).pair}}
	server.StartTLS()
	defer server.Close()
	host := server.Listener.Addr().String()
	named := http.Header{"Host": {"orders.internal"}}
	for name, test := range map[string]struct {
		target string
		o      Options
		want   string
	}{
		"all":        {host, Options{Header: named, CAFile: own, CertFile: client, KeyFile: client + ".key"}, ""},
		"no client":  {host, Options{Header: named, CAFile: own}, "pass its certificate and key with -cert and -key"},
		"no CA":      {"https://" + host, Options{Header: named}, "add its authority to this system with -ca FILE"},
		"another CA": {host, Options{Header: named, CAFile: other}, "the certificate is not trusted"},
		"no name":    {host, Options{CAFile: own}, `if the name in it is another one, pass that with -header "Host: NAME"`},
		"plain":      {"http://" + host, Options{}, "the service uses TLS on this port: request https://" + host},
	} {
		if _, err := one(t, test.target, test.o, 100); err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
