// Package page opens pages in a real browser, for all checks of this module that need
// one, and checks report.html, the lab's page: it runs no script, fetches nothing, fits a
// phone, prints, and has readable charts.
//
// What may enter: control of the browser (browser.go), programs that serve a page
// (serve.go), checks of a page (checks.go, and checks.js inside the page), and comparison
// of the charts with pictures (picture.go). What a Go test of the report can see without
// a browser is not checked here again. The module is not part of the workspace, because
// the tool itself needs no browser. It needs Debian's chromium, or the program in
// $CHROMIUM.
package page

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tabLimit is how long a tab may stay open. A page that hangs fails its own test, and no
// other one.
const tabLimit = 2 * time.Minute

// Start starts a browser. It ends with the context, or when stop is called.
func Start(ctx context.Context) (browser context.Context, stop func(), err error) {
	program, err := program()
	if err != nil {
		return nil, nil, err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.Flag("hide-scrollbars", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root cannot use the sandbox
	}
	allocator, free := chromedp.NewExecAllocator(ctx, options...)
	browser, end := chromedp.NewContext(allocator)
	stop = func() { end(); free() }
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return browser, stop, nil
}

func program() (string, error) {
	if named := os.Getenv("CHROMIUM"); named != "" {
		return exec.LookPath(named)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium not found: install it, or set $CHROMIUM to the program")
}

// A View is a device or medium for a page.
type View struct {
	Name   string
	Width  int64 // in device pixels
	Height int64
	Scheme string // light or dark
	Media  string // screen or print
	Still  bool   // the user prefers reduced motion
}

// The views of the checks. Paper is A4 without margins, at 96 pixels per inch.
var (
	Phone     = View{"phone", 390, 844, "light", "screen", false}
	PhoneDark = View{"phone-dark", 390, 844, "dark", "screen", false}
	Desk      = View{"desk", 1280, 800, "light", "screen", false}
	DeskDark  = View{"desk-dark", 1280, 800, "dark", "screen", false}
	Paper     = View{"paper", 680, 900, "dark", "print", false}
)

// A Page is a page in a tab.
type Page struct {
	ctx   context.Context
	url   string
	mu    sync.Mutex
	said  []string // errors and warnings, on the console and in the browser's log
	asked []string // addresses of all requests
}

// Open opens a file in a tab of the browser and waits until it has loaded. The
// file may have a fragment: "report.html#reading".
func Open(browser context.Context, file string, view View) (*Page, func(), error) {
	file, fragment, _ := strings.Cut(file, "#")
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), Fragment: fragment}
	return Visit(browser, address.String(), view)
}

// Visit opens the page at a URL in a tab of the browser and waits until it has
// loaded. The tab is closed after tabLimit at the latest.
func Visit(browser context.Context, url string, view View) (*Page, func(), error) {
	limited, release := context.WithTimeout(browser, tabLimit)
	ctx, closeTab := chromedp.NewContext(limited)
	end := func() { closeTab(); release() }
	p := &Page{ctx: ctx, url: url}
	err := errors.Join(chromedp.Listen(ctx, p.hear), p.look(view), chromedp.Do(ctx, chromedp.Navigate(p.url)))
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("opening %s: %w", p.url, err)
	}
	return p, end, nil
}

// Context returns the tab's context for chromedp.
func (p *Page) Context() context.Context { return p.ctx }

// Press sends a key to the element with the focus.
func (p *Page) Press(key string) error { return chromedp.Do(p.ctx, chromedp.KeyEvent(key)) }

func (p *Page) look(view View) error {
	_, requests := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	motion := "no-preference"
	if view.Still {
		motion = "reduce"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: view.Media,
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: view.Scheme}, {Name: "prefers-reduced-motion", Value: motion},
		},
	})
	return errors.Join(requests, err, chromedp.Do(p.ctx, chromedp.EmulateViewport(view.Width, view.Height)))
}

// hear collects the events of the tab in order.
func (p *Page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, "exception: "+exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		p.said = append(p.said, fmt.Sprintf("console: a script called console.%s", e.Type))
	case *log.EventEntryAdded:
		p.said = append(p.said, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
	}
}

// exception describes an exception of a script.
func exception(details *runtime.ExceptionDetails) string {
	if details.Exception != nil && details.Exception.Description != "" {
		return details.Exception.Description
	}
	return details.Text
}
