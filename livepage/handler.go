package livepage

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

//go:embed page
var files embed.FS

// An asset is a part of the page: one or more embedded files, joined in order.
type asset struct {
	files       []string
	contentType string
}

var assetOf = map[string]asset{
	"html": {[]string{"page.html"}, "text/html; charset=utf-8"},
	"css":  {[]string{"page.css", "map.css"}, "text/css; charset=utf-8"},
	"js":   {[]string{"format.js", "drawing.js", "list.js", "channel.js", "layout.js", "map.js", "page.js"}, "text/javascript; charset=utf-8"},
}

// text returns the content of the asset.
func (a asset) text() (text []byte, err error) {
	for _, name := range a.files {
		part, err := files.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		text = append(text, part...)
	}
	return text, nil
}

// Drawing returns a script and a style that draw a [Flow] in a page without a server, as
// sluice doctor saves it. The page has the elements of the section with the ID map, and
// calls showMap(flow, false).
func Drawing() (script, style string, err error) {
	js, err := asset{files: []string{"format.js", "layout.js", "map.js"}}.text()
	css, cssErr := assetOf["css"].text()
	return string(js), string(css), cmp.Or(err, cssErr)
}

// policy allows only the page's own three assets. All addresses are queries on
// one path, so the handler works under any path.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns a handler for one path, by convention /debug/sluice. The
// package comment lists the queries it answers and explains who must not reach
// it.
//
// It answers requests for an IP address, for localhost and for names below
// localhost. Requests for any other host name are refused with status 403, as a
// guard against DNS rebinding, unless hosts has the name: "orders.internal",
// "*.internal" for all names below internal, or "*" for every name, behind a
// proxy that authenticates. Handler panics if one of hosts is not a host name.
func Handler(hosts ...string) http.Handler { return newHandler("Handler", hosts) }

// Register registers a [Handler] at /debug/sluice in mux, with and without a
// trailing slash. Hosts are those of Handler.
func Register(mux *http.ServeMux, hosts ...string) {
	h := newHandler("Register", hosts)
	mux.Handle("/debug/sluice", h)
	mux.Handle("/debug/sluice/{$}", h)
}

type handler struct {
	allowed hosts
	monitor monitor

	mu      sync.Mutex
	streams int                              // open streams
	ending  map[*http.Server]<-chan struct{} // closed by its Shutdown
}

// newHandler panics in the name of a function if one of names is not a host name.
func newHandler(function string, names []string) *handler {
	allowed, err := allow(names)
	if err != nil {
		panic("livepage." + function + ": " + err.Error())
	}
	return &handler{allowed: allowed}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if !h.allowed.has(r.Host) {
		refuse(w, http.StatusForbidden, foreign(r.Host))
		return
	}
	if r.Method != http.MethodGet {
		header.Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "method "+r.Method+" is not allowed (want GET)")
		return
	}
	q, err := parse(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	switch q.format {
	case "json":
		report, found := q.report(h.monitor.look(q.channel))
		if !found {
			refuse(w, http.StatusNotFound, gone)
			return
		}
		writeJSON(w, report)
	case "flow":
		whole, _ := h.monitor.look(0).flow()
		writeJSON(w, whole)
	case "events":
		h.stream(w, r, q)
	default:
		a := assetOf[q.format]
		text, err := a.text()
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		if q.format == "html" {
			text = bytes.Replace(text, []byte("<!-- kinds -->"), []byte(kindOptions), 1)
		}
		header.Set("Content-Type", a.contentType)
		_, _ = w.Write(text) // An error means that the client has disconnected.
	}
}

func writeJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // as above
}

// kindOptions are the options of the page's filter by kind.
var kindOptions = "<option>" + strings.Join(kinds, "</option><option>") + "</option>"

const gone = "no such channel: the ID is unknown, or the channel was garbage-collected"

// refuse answers with a one-line error.
func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, "sluice: "+strings.ReplaceAll(why, "\n", " "), status)
}
