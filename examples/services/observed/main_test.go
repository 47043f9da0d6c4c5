package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// get returns the body of a page.
func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, answer.Status, err, body)
	}
	return string(body)
}

// The service counts words, and shows its channels.
func TestService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener) }()
	url := "http://" + listener.Addr().String()
	for range 10 {
		answer, err := http.Post(url+"/documents", "text/plain", strings.NewReader("A channel, and a Channel."))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Fatalf("status %s", answer.Status)
		}
	}
	for get(t, url+"/words/channel") != "20\n" && t.Context().Err() == nil {
	}
	if page := get(t, url+"/metrics"); !strings.Contains(page, `name="documents"`) || !strings.Contains(page, `name="counts"`) {
		t.Errorf("the metrics lack a channel:\n%s", page)
	}
	if page := get(t, url+"/debug/sluice/?format=json"); !strings.Contains(page, `"documents"`) {
		t.Errorf("the page lacks a channel:\n%s", page)
	}
	get(t, url+"/debug/sluice/")
	get(t, url+"/debug/pprof/goroutine?debug=1")
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Documents that were accepted are counted, whenever the channel is closed, and a full
// channel rejects more.
func TestAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents := sluice.NewBounded(64, &sluice.BoundedOptions[string]{Overflow: sluice.Reject})
		accepted := 0
		for documents.Send(t.Context(), fmt.Sprint("word ", accepted)) == nil {
			accepted++
		}
		if err := documents.Send(t.Context(), "x"); !errors.Is(err, sluice.ErrFull) {
			t.Errorf("error %v, want %v", err, sluice.ErrFull)
		}
		documents.Close()
		words := &index{total: map[string]int{}}
		if err := words.count(t.Context(), documents); err != nil || words.get("word") != accepted {
			t.Errorf("%d of %d counted, %v", words.get("word"), accepted, err)
		}
	})
}
