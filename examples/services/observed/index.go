package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/workers"
)

// An index contains how often each word occurred.
type index struct {
	mu    sync.Mutex
	total map[string]int
}

// count counts the words of documents until that channel is closed and drained.
func (x *index) count(ctx context.Context, documents sluice.BatchReceiver[string]) error {
	counts := sluice.NewElastic(256, &sluice.ElasticOptions[map[string]int]{Name: "counts"})
	added := make(chan error, 1)
	go func() { added <- x.addAll(ctx, counts) }()
	err := workers.Run(ctx, documents, runtime.GOMAXPROCS(0), func(ctx context.Context, text string) error {
		return counts.Send(ctx, split(text))
	}, nil)
	counts.Close()
	return errors.Join(err, <-added)
}

// addAll adds counts to the index, in batches that take its lock once.
func (x *index) addAll(ctx context.Context, counts sluice.BatchReceiver[map[string]int]) error {
	batches := batch.Receive(ctx, counts, 32, &batch.Options[map[string]int]{Linger: 10 * time.Millisecond})
	for some := range batches.All() {
		x.mu.Lock()
		for _, document := range some {
			for word, n := range document {
				x.total[word] += n
			}
		}
		x.mu.Unlock()
	}
	return batches.Err()
}

func (x *index) get(word string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.total[word]
}

// split returns how often each word occurs in a document.
func split(text string) map[string]int {
	words := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		words[word]++
	}
	return words
}
