package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// A healthy server.
var _ = register(scenario{
	Name: "shop",
	About: "A web shop serves searches over HTTP: it sorts a thousand articles and encodes the best as " +
		"JSON. It logs over a channel, as it should. Four clients keep it busy.",
	Instead: cpuBound,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound: func(s *service) { startShop(s, 64) },
		buffer:  func(s *service) { startShop(s, 4096) },
	},
})

const (
	shopClients  = 4
	shopArticles = 1000
)

// An article of the shop.
type article struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
	Score uint64  `json:"score"`
}

type shop struct {
	articles [shopArticles]article
	log      chan string
}

func startShop(s *service, capacity int) {
	shop := &shop{log: make(chan string, capacity)}
	for i := range shop.articles {
		shop.articles[i] = article{Name: fmt.Sprintf("article %d", i), Price: float64(i) / 100}
	}
	go shop.write()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("shop: it cannot listen: " + err.Error())
	}
	server := &http.Server{Handler: http.HandlerFunc(shop.search), ReadHeaderTimeout: 10 * time.Second}
	// Serve ends with the process.
	go func() { _ = server.Serve(listener) }()
	for range shopClients {
		go buy("http://"+listener.Addr().String()+"/", s.counter())
	}
}

// search responds with the ten best matches.
func (s *shop) search(w http.ResponseWriter, r *http.Request) {
	found := slices.Clone(s.articles[:])
	for i := range found {
		found[i].Score = grind(uint64(i)+uint64(len(r.URL.RawQuery)), 20)
	}
	slices.SortFunc(found, func(a, b article) int {
		if a.Score < b.Score {
			return -1
		}
		return 1
	})
	answer(w, found[:10])
	s.log <- r.URL.RawQuery
}

// write writes the log.
func (s *shop) write() {
	for line := range s.log {
		fmt.Fprintln(io.Discard, time.Now().Format(time.RFC3339), line)
	}
}

// buy is a client that sends requests in a loop.
func buy(url string, done *counter) {
	for n := 0; ; n++ {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, fmt.Sprintf("%s?q=%d", url, n), nil)
		if err != nil {
			panic("shop: " + err.Error())
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		var found []article
		err = json.NewDecoder(response.Body).Decode(&found)
		response.Body.Close()
		if err == nil {
			done.add(1)
		}
	}
}
