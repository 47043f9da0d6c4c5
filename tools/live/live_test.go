package live

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/tools/page"
)

var shots = flag.String("shots", "", "leave screenshots in this directory, for a person to look at")

// shared is the browser, and the program built.
var shared struct {
	browser context.Context
	program string
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(within(m))
}

func within(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "live-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared.program = filepath.Join(dir, "service")
	if out, err := exec.Command("go", "build", "-o", shared.program, "./service").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "live: %v\n%s", err, out)
		return 1
	}
	browser, stop, err := page.Start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		return 1
	}
	defer stop()
	shared.browser = browser
	return m.Run()
}

// A program runs, and can be ended and started again on its address.
type program struct {
	flags   []string
	address string // of its page
	command *exec.Cmd
}

// begin starts the program, which ends with the test.
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
	p.command = exec.Command(shared.program, flags...)
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return err
	}
	said := bufio.NewScanner(out)
	if !said.Scan() {
		return errors.Join(errors.New("the program says no address"), p.stop())
	}
	p.address = said.Text()
	return nil
}

// stop ends it without a word to anybody.
func (p *program) stop() error {
	if p.command == nil {
		return nil
	}
	err := p.command.Process.Kill()
	_ = p.command.Wait() // it was killed
	p.command = nil
	return err
}

// visit opens the page of a program, or of what stands before it.
func visit(t *testing.T, address string, view page.View) *Session {
	t.Helper()
	p, end, err := page.Visit(shared.browser, address, view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return NewSession(p, "http://"+at.Host)
}

func report(t *testing.T, wrong ...[]string) {
	t.Helper()
	for _, wrong := range slices.Concat(wrong...) {
		t.Error(wrong)
	}
}

const hostile = `<img src=x onerror="planted=1"><script>planted=1</script>`

func escapes(s *Session) { s.Escapes(hostile) }

// Each check holds of the page as it is. Nobody else is asked, and the console is
// silent.
func TestPage(t *testing.T) {
	p := begin(t)
	for name, check := range map[string]func(*Session){
		"moves": (*Session).Moves, "sorts": (*Session).Sorts, "filters": (*Session).Filters, "escapes": escapes,
		"ring": (*Session).Ring, "waiters": (*Session).Waiters, "hand over": (*Session).HandOver, "tank": (*Session).Tank, "lanes": (*Session).Lanes,
		"a hostile name's own page": func(s *Session) { s.Open(hostile) },
	} {
		t.Run(name, func(t *testing.T) {
			s := visit(t, p.address, page.Desk)
			check(s)
			s.Alone()
			report(t, s.Wrong(), s.Quiet())
		})
	}
	t.Run("guarded", func(t *testing.T) { // the console is full of it, and rightly so
		s := visit(t, p.address, page.Desk)
		s.Guarded()
		report(t, s.Wrong())
	})
}

func TestManyChannels(t *testing.T) {
	p := begin(t, "-many", "10000")
	s := visit(t, p.address, page.Desk)
	s.Turns()
	s.Alone()
	report(t, s.Wrong(), s.Quiet())
}

// The program ends and comes back: without a word, so that the connection breaks, and
// behind a proxy, which answers 502 meanwhile.
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
			report(t, s.Wrong())
		})
	}
}

// The page fits, and can be read, on a phone and on a desk, by day and by night.
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
				report(t, s.Wrong(), s.Ask("width"), s.Ask("contrast"), s.Quiet())
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

// keep leaves a screenshot, if asked for.
func keep(t *testing.T, s *Session, view page.View, open string) {
	t.Helper()
	if *shots == "" {
		return
	}
	_, data, err := s.Screenshot()
	if err != nil {
		t.Fatal(err)
	}
	what := strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, open)
	if err := os.WriteFile(filepath.Join(*shots, "live-"+view.Name+"-"+what+".png"), data, 0o644); err != nil {
		t.Error(err)
	}
}
