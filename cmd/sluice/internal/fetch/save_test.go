package fetch

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/livepage"
)

// TestSave observes this process, saves what was read, and reads it again.
func TestSave(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	livepage.Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	c, done := sluice.NewBounded[int](1, &sluice.BoundedOptions[int]{Name: "orders"}), make(chan struct{})
	go func() {
		defer close(done)
		for err := error(nil); err == nil; {
			_, err = c.Recv(t.Context())
		}
	}()
	go func() {
		for i := 0; c.Send(t.Context(), i) == nil; i++ {
		}
	}()
	s, err := At(strings.Replace(server.URL, "//", "//user:secret@", 1), Options{Trace: true, Others: func() (*float64, int) { return new(float64), 2 }})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := s.Watch(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-done
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	opened, err := capture.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if watched.CPU == nil || watched.Trace == nil || watched.Flow == nil || watched.Machine == nil || len(watched.Dumps) != 4 || opened.Trace == nil {
		t.Fatalf("CPU %v, trace %v, flow %v, missing %q", watched.CPU != nil, watched.Trace, watched.Flow, watched.Missing)
	}
	in, err := opened.Trace.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	events, err := trace.NewReader(in)
	for err == nil {
		_, err = events.ReadEvent()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("trace: %v", err)
	}
	opened.Live, opened.Trace, watched.Trace = true, nil, nil
	if !opened.Start.Equal(watched.Start) {
		t.Errorf("started %v, %v", opened.Start, watched.Start)
	}
	opened.Start = watched.Start
	if !reflect.DeepEqual(opened, watched) {
		t.Errorf("%.500q\nwant %.500q", opened.Missing, watched.Missing)
	}
	header, err := os.ReadFile(filepath.Join(dir, capture.HeaderFile))
	if err != nil || strings.Contains(string(header), "secret") {
		t.Errorf("%s %v", header, err)
	}
	if err := s.Save(dir); err == nil || !strings.Contains(err.Error(), "the folder is not empty: name a new one") {
		t.Errorf("%v", err)
	}
}

func TestVacant(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"empty": "", "no/such": "", dir: "the folder is not empty", file: file} {
		if err := Vacant(name); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestSaveFails: nothing remains of a capture that could not be saved.
func TestSaveFails(t *testing.T) {
	s, err := At("h:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.files = map[string][]byte{"a": nil, filepath.Join("no such folder", "b"): nil}
	if err := s.Save(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
	delete(s.files, filepath.Join("no such folder", "b"))
	if err := s.Save(dir); err != nil {
		t.Error(err)
	}
}
