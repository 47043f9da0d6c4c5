package live

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/tools/page"
)

var shots = flag.String("shots", "", "save screenshots in this directory")

// shared holds the browser and the built programs.
var shared struct {
	browser context.Context
	service string
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(within(m))
}

func within(m *testing.M) int {
	dir, err := os.MkdirTemp("", "live-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared.service = filepath.Join(dir, "service")
	if err := page.Build(context.Background(), ".", "./service", shared.service); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		return 1
	}
	browser, stop, err := page.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		return 1
	}
	defer stop()
	shared.browser = browser
	return m.Run()
}

// A program is a running service that can be stopped and restarted on its address.
type program struct {
	flags   []string
	address string // the address of its page
	kill    func()
}

// begin starts the program; it stops at the end of the test.
func begin(t *testing.T, flags ...string) *program {
	t.Helper()
	p := &program{flags: flags}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

func (p *program) start() error {
	flags := slices.Clone(p.flags)
	if at, err := url.Parse(p.address); p.address != "" && err == nil {
		flags = append(flags, "-addr", at.Host)
	}
	address, stop, err := page.Serve(context.Background(), shared.service, flags...)
	if err != nil {
		return err
	}
	p.address, p.kill = address, sync.OnceFunc(stop)
	return nil
}

// stop kills the program.
func (p *program) stop() error { p.kill(); return nil }

// visit opens the page of a program or of a proxy in front of it.
func visit(t *testing.T, address string, view page.View) *Session {
	t.Helper()
	p, end, err := page.Visit(shared.browser, address, view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return &Session{Page: p, address: strings.TrimSuffix(address, "/")}
}

func report(t *testing.T, wrong ...[]string) {
	t.Helper()
	for _, wrong := range slices.Concat(wrong...) {
		t.Error(wrong)
	}
}

const hostile = `<img src=x onerror="planted=1"><script>planted=1</script>`

func escapes(s *Session) { s.Escapes(hostile) }

// The unmodified page passes each check, requests nothing from other hosts and logs
// nothing on the console.
func TestPage(t *testing.T) {
	p := begin(t)
	for name, check := range map[string]func(*Session){
		"moves": (*Session).Moves, "names": (*Session).Names, "sorts": (*Session).Sorts, "filters": (*Session).Filters, "escapes": escapes,
		"ring": Inside("still"), "waiters": Inside("stuck"), "hand-off": Inside("busy/rendezvous"), "tank": Inside("busy/elastic"), "lanes": Inside("busy/sharded"),
		"a hostile name's own page": func(s *Session) { s.Open(hostile) },
	} {
		t.Run(name, func(t *testing.T) {
			s := visit(t, p.address, page.Desk)
			check(s)
			s.Alone()
			report(t, s.wrong, s.Quiet())
		})
	}
	t.Run("guarded", func(t *testing.T) { // the policy's violations appear on the console
		s := visit(t, p.address, page.Desk)
		s.Guarded()
		report(t, s.wrong)
	})
}

func TestManyChannels(t *testing.T) {
	p := begin(t, "-many", "10000")
	s := visit(t, p.address, page.Desk)
	s.Turns()
	s.Alone()
	report(t, s.wrong, s.Quiet())
}

// The program is killed and restarted: once directly, which breaks the connection, and
// once behind a proxy, which answers 502 meanwhile.
func TestRestart(t *testing.T) {
	for _, way := range []string{"direct", "proxy"} {
		t.Run(way, func(t *testing.T) {
			p := begin(t)
			address, start := p.address, p.start
			if way == "proxy" {
				between := plant(t, p.address, nothing)
				address, start = between.address, between.later(p)
			}
			s := visit(t, address, page.Desk)
			s.Returns(p.stop, start)
			s.Alone()
			report(t, s.wrong)
		})
	}
}

// The page fits and is readable on a phone and on a desktop, in light and dark mode.
func TestViews(t *testing.T) {
	p := begin(t)
	for _, view := range []page.View{page.Phone, page.PhoneDark, page.Desk, page.DeskDark} {
		for _, open := range []string{"", "still", "stuck", "busy/rendezvous", "busy/elastic", "busy/sharded", hostile} {
			t.Run(view.Name+"/"+either(open == "", "list", open), func(t *testing.T) {
				t.Parallel()
				s := visit(t, p.address, view)
				s.Moves()
				if open != "" {
					s.Open(open)
				}
				report(t, s.wrong, s.Sound(s.address))
				keep(t, s, view, open)
			})
		}
	}
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// keep saves a screenshot if -shots is set.
func keep(t *testing.T, s *Session, view page.View, open string) {
	t.Helper()
	if *shots == "" {
		return
	}
	data, err := s.Screenshot()
	if err != nil {
		t.Fatal(err)
	}
	what := strings.Map(func(r rune) rune {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return -1
		}
		return r
	}, open)
	if err := os.WriteFile(filepath.Join(*shots, "live-"+view.Name+"-"+what+".png"), data, 0o644); err != nil {
		t.Error(err)
	}
}
