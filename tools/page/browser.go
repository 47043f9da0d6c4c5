// Package page checks report.html, the lab's page, in a real browser: the page
// runs no script, fetches nothing, fits a phone, prints, and has readable
// charts.
//
// What may enter: control of the browser (browser.go), checks of a page
// (checks.go, and checks.js inside the page), and comparison of its charts with
// pictures (picture.go). The module is not part of the workspace, because the
// tool itself needs no browser. Run it with `make page`; it needs Debian's
// chromium, or the program in $CHROMIUM.
package page

import (
	"context"
	"errors"
	"fmt"
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
	Width  int64  // in device pixels
	Scheme string // light or dark
	Media  string // screen or print
}

// The views of the checks. Paper is A4 without margins, at 96 pixels per inch.
var (
	Phone     = View{"phone", 390, "light", "screen"}
	PhoneDark = View{"phone-dark", 390, "dark", "screen"}
	Desk      = View{"desk", 1280, "light", "screen"}
	DeskDark  = View{"desk-dark", 1280, "dark", "screen"}
	Paper     = View{"paper", 680, "dark", "print"}
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
	file, fragment, found := strings.Cut(file, "#")
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	url := "file://" + filepath.ToSlash(path)
	if found {
		url += "#" + fragment
	}
	return Visit(browser, url, view)
}

// Visit opens the page at a URL in a tab of the browser and waits until it has
// loaded. The tab is closed after tabLimit at the latest.
func Visit(browser context.Context, url string, view View) (*Page, func(), error) {
	limited, release := context.WithTimeout(browser, tabLimit)
	ctx, closeTab := chromedp.NewContext(limited)
	end := func() { closeTab(); release() }
	p := &Page{ctx: ctx, url: url}
	err := errors.Join(chromedp.Listen(ctx, p.hear), p.enable(), p.look(view), chromedp.Do(ctx, chromedp.Navigate(p.url)))
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("opening %s: %w", p.url, err)
	}
	return p, end, nil
}

// Context returns the tab's context for chromedp.
func (p *Page) Context() context.Context { return p.ctx }

// Resize changes the size of the screen, in device pixels.
func (p *Page) Resize(width, height int64) error {
	return chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height))
}

// Press sends a key to the element with the focus.
func (p *Page) Press(key string) error { return chromedp.Do(p.ctx, chromedp.KeyEvent(key)) }

func (p *Page) enable() error {
	_, requests := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	return requests
}

func (p *Page) look(view View) error {
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media:    view.Media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.Scheme}},
	})
	return errors.Join(err, chromedp.Do(p.ctx, chromedp.EmulateViewport(view.Width, 900)))
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
