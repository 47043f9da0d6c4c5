package debug

import (
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

//go:embed page.html page.css page.js
var assets embed.FS

// An asset is served as it is embedded.
type asset struct{ file, contentType string }

var assetOf = map[string]asset{
	"html": {"page.html", "text/html; charset=utf-8"},
	"css":  {"page.css", "text/css; charset=utf-8"},
	"js":   {"page.js", "text/javascript; charset=utf-8"},
}

// policy allows what the page's own three files need. Its addresses are queries of
// the one path, so the handler works wherever it is mounted.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns a handler for one path, by custom /debug/sluice. The package
// comment says what it answers, and who should not be able to ask.
func Handler() http.Handler { return new(handler) }

type handler struct {
	monitor monitor

	mu      sync.Mutex
	streams int                              // now
	ending  map[*http.Server]<-chan struct{} // closed by its Shutdown
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		header.Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "the method must be GET")
		return
	}
	q, err := parse(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	switch q.format {
	case "json":
		report, found := q.report(h.monitor.lookFor(q))
		if !found {
			refuse(w, http.StatusNotFound, gone)
			return
		}
		header.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report) // a client that is gone needs none
	case "events":
		h.stream(w, r, q)
	default:
		a := assetOf[q.format]
		text, err := assets.ReadFile(a.file)
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		header.Set("Content-Type", a.contentType)
		_, _ = w.Write(text) // likewise
	}
}

const gone = "there is no such channel, or no more"

// refuse answers with one line.
func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, "sluice: "+strings.ReplaceAll(why, "\n", " "), status)
}
