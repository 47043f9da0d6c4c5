package main

import "context"

// A hub between publishers and subscribers.
var _ = register(scenario{
	Name: "ticks",
	About: "A hub receives prices from four exchanges over one channel, and sends each to 25 traders, in a " +
		"select with the trader's context. The hub's goroutine does nothing else, and is always busy.",
	HeldOut:  true,
	Channels: true,
	Sites: []site{{selecting, "main.(*tickHub).tell"}, {receive, "main.(*tickHub).run"}, {selecting, "main.(*tickHub).run"},
		{selecting, "main.(*trader).trade"}, {send, "main.(*tickHub).exchange"}},
	Right: []string{batch},
	builds: map[string]build{
		asFound: func(s *service) { startTicks(s, 8, 1) },
		buffer:  func(s *service) { startTicks(s, 512, 1) },
		batch:   func(s *service) { startTicks(s, 8, 40) },
	},
})

type tickHub struct {
	prices  chan uint64
	traders []*trader
	size    int // prices per message
}

type trader struct {
	ctx   context.Context
	inbox chan []uint64
	one   chan uint64
	done  *counter
}

func startTicks(s *service, capacity, size int) {
	h := &tickHub{prices: make(chan uint64, capacity), size: size}
	for range 25 {
		ctx, cancel := context.WithCancel(context.Background())
		_ = context.AfterFunc(ctx, cancel)
		t := &trader{ctx, make(chan []uint64, capacity), make(chan uint64, capacity), s.counter()}
		h.traders = append(h.traders, t)
		if size == 1 {
			go t.trade()
		} else {
			go t.tradeSlices()
		}
	}
	if size == 1 {
		go h.run()
	} else {
		go h.runSlices()
	}
	forever(4, h.exchange)
}

func (h *tickHub) exchange(i int) {
	for price := uint64(i); ; {
		price = grind(price, 30)
		h.prices <- price
	}
}

func (h *tickHub) run() {
	for price := range h.prices {
		for _, t := range h.traders {
			h.tell(t, price)
		}
	}
}

func (h *tickHub) tell(t *trader, price uint64) {
	select {
	case t.one <- price:
	case <-t.ctx.Done():
	}
}

func (t *trader) trade() {
	for {
		select {
		case price := <-t.one:
			sink(grind(price, 10))
			t.done.add(1)
		case <-t.ctx.Done():
			return
		}
	}
}

// runSlices collects prices, and sends the same slice to all traders.
func (h *tickHub) runSlices() {
	prices := make([]uint64, 0, h.size)
	for price := range h.prices {
		if prices = append(prices, price); len(prices) < h.size {
			continue
		}
		for _, t := range h.traders {
			t.inbox <- prices
		}
		prices = make([]uint64, 0, h.size)
	}
}

func (t *trader) tradeSlices() {
	for prices := range t.inbox {
		for _, price := range prices {
			sink(grind(price, 10))
		}
		t.done.add(len(prices))
	}
}
