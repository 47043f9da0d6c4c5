package watch

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/livepage"
)

func TestAt(t *testing.T) {
	for _, test := range []struct{ target, address, title string }{
		{"localhost:6060", "http://localhost:6060/debug/sluice", "localhost:6060"},
		{":6060", "http://localhost:6060/debug/sluice", "localhost:6060"},
		{"127.0.0.1", "http://127.0.0.1/debug/sluice", "127.0.0.1"},
		{"[::1]:6060", "http://[::1]:6060/debug/sluice", "[::1]:6060"},
		{"http://host:6060", "http://host:6060/debug/sluice", "host:6060"},
		{"http://host:6060/", "http://host:6060/debug/sluice", "host:6060"},
		{"host:6060/debug/sluice", "http://host:6060/debug/sluice", "host:6060"},
		{"http://host:6060/debug/sluice#x", "http://host:6060/debug/sluice", "host:6060"},
		{"https://host/inside/channels/", "https://host/inside/channels/", "https://host/inside/channels/"},
		{"http://me:secret@host:6060", "http://host:6060/debug/sluice", "host:6060"},
	} {
		s, q, err := At(test.target)
		if err != nil || s.String() != test.address || s.short() != test.title || q != (Query{Page: 1}) {
			t.Errorf("%s: %v, %q, %+v, %v", test.target, s, s.short(), q, err)
		}
	}
	// A URL copied from a browser.
	_, q, err := At("localhost:6060/debug/sluice?sort=sent&filter=a+b&kind=bounded&order=asc&page=3&size=20&format=html")
	if want := (Query{Filter: "a b", Kind: "bounded", Sort: "sent", Order: "asc", Page: 3}); err != nil || q != want {
		t.Errorf("%+v, %v, want %+v", q, err, want)
	}
	if _, q, err = At("localhost:6060?channel=7"); err != nil || q.Channel != 7 {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestAtRefuses(t *testing.T) {
	for _, test := range []struct{ target, want string }{
		{"ftp://host/", `unsupported scheme "ftp" (want host:port`},
		{"http://", "has no host"},
		{"", "has no host"},
		{"http://me:secret@host:bad/", "invalid URL: in a password"},
		{"a b", "invalid URL (want host:port"},
		{"host:6060?sort=speed", `unknown sort key "speed" (want name, fill`},
		{"host:6060?kind=pipe", `unknown kind "pipe" (want rendezvous`},
		{"host:6060?order=up", `unknown order "up" (want asc or desc)`},
		{"host:6060?page=0", "invalid page 0"},
		{"host:6060?page=x", "invalid parameter page=x"},
		{"host:6060?channel=x%1b", `invalid parameter channel=x\x1b`},
		{"host:6060?speed=1", "unknown parameter speed in the address"},
		{"host:6060?page=1&page=2", "invalid parameter page=1"},
		{"host:6060?%zz", "invalid query"},
	} {
		_, _, err := At(test.target)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", test.target, err, test.want)
		}
	}
}

// The handler accepts every query of this package, and has the same kinds and
// sortings.
func TestHandlerAgrees(t *testing.T) {
	handler := livepage.Handler()
	status := func(query string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path+"?"+query, nil))
		return w.Code, w.Body.String()
	}
	for _, kind := range kinds {
		for _, sort := range append(Sortings(), "") {
			for _, order := range []string{"", "asc", "desc"} {
				q := Query{Filter: "a&b ü", Kind: kind, Sort: sort, Order: order, Page: 2, channelsOnPage: maxSize + 50}
				if code, said := status(q.encode()); code != http.StatusOK || q.Check() != nil {
					t.Errorf("%+v: %d %s; %v", q, code, said, q.Check())
				}
			}
		}
	}
	for parameter, ours := range map[string][]string{"sort": Sortings(), "kind": Kinds()} {
		_, said := status(parameter + "=nonesuch")
		_, list, found := strings.Cut(strings.TrimSuffix(strings.TrimSpace(said), ")"), "(want ")
		theirs := strings.Split(list, ", ")
		slices.Sort(ours)
		slices.Sort(theirs)
		if !found || !slices.Equal(ours, theirs) {
			t.Errorf("%s: %q here, the handler has %q", parameter, ours, said)
		}
	}
	if code, _ := status((&Query{}).encode()); code != http.StatusOK {
		t.Error("an empty query is refused")
	}
}

func TestSortings(t *testing.T) {
	q := Query{Page: 5}
	var seen []string
	for range sortings {
		s, descends := q.sorting()
		if descends != s.figure {
			t.Errorf("%s: descends %v", s.key, descends)
		}
		seen = append(seen, s.key)
		q.turn()
		if _, turned := q.sorting(); turned == descends {
			t.Errorf("%s: the reversed order is the same", s.key)
		}
		q.sortBy(1)
	}
	if !slices.Equal(seen, Sortings()) || q.Sort != "name" || q.Order != "" || q.Page != 1 {
		t.Errorf("%q, then %+v", seen, q)
	}
	if q.sortBy(-1); q.Sort != "id" {
		t.Errorf("one step back from name is %q", q.Sort)
	}
}
