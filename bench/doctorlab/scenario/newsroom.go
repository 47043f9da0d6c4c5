package main

import "sync"

// One value to many subscribers.
var _ = register(scenario{
	Name: "newsroom",
	About: "Two editors publish articles to 40 readers: under a read lock, a loop over a map sends each " +
		"article to the buffered channel of each reader, who does little with it.",
	Channels: true,
	Sites:    []site{{send, "main.(*newsroom).publish"}, {receive, "main.(*newsReader).read"}},
	Right:    []string{batch},
	builds: map[string]build{
		asFound: func(s *service) { startNewsroom[article64](s, 16, newsOne) },
		buffer:  func(s *service) { startNewsroom[article64](s, 1024, newsOne) },
		batch:   func(s *service) { startNewsroom[[]article64](s, 16, newsSlice) },
	},
})

// An article64 is a published article.
type article64 struct{ id, topic uint64 }

type newsReader[T any] struct{ inbox chan T }

type newsroom[T any] struct {
	mu      sync.RWMutex
	readers map[int]*newsReader[T]
}

func startNewsroom[T any](s *service, capacity int, kind newsKind[T]) {
	room := &newsroom[T]{readers: make(map[int]*newsReader[T])}
	for i := range 40 {
		r := &newsReader[T]{make(chan T, capacity)}
		room.readers[i] = r
		go r.read(kind, s.counter())
	}
	forever(2, func(i int) {
		for n := uint64(i); ; n += kind.step {
			room.publish(kind.make(n))
		}
	})
}

func (room *newsroom[T]) publish(article T) {
	room.mu.RLock()
	defer room.mu.RUnlock()
	for _, r := range room.readers {
		r.inbox <- article
	}
}

func (r *newsReader[T]) read(kind newsKind[T], done *counter) {
	for article := range r.inbox {
		done.add(kind.use(article))
	}
}

// A newsKind makes and uses one message: an article, or a slice of them.
type newsKind[T any] struct {
	step uint64
	make func(uint64) T
	use  func(T) int
}

func newArticle(n uint64) article64 { return article64{n, grind(n, 50)} }
func (a article64) use()            { sink(grind(a.topic, 10)) }

var (
	newsOne   = newsKind[article64]{1, newArticle, func(a article64) int { a.use(); return 1 }}
	newsSlice = newsKind[[]article64]{32,
		func(n uint64) []article64 {
			articles := make([]article64, 32)
			for i := range articles {
				articles[i] = newArticle(n + uint64(i))
			}
			return articles
		},
		func(articles []article64) int {
			for _, a := range articles {
				a.use()
			}
			return len(articles)
		}}
)
