package main

// Many hand-offs, none of them hot.
var _ = register(scenario{
	Name: "relay",
	About: "Two orders at a time go through eight small steps, each a goroutine with its own channel. A step " +
		"computes for a tenth of a microsecond and wakes the next one. No channel is busy; the cost is in " +
		"putting goroutines and threads to sleep and waking them, spread over all lines.",
	Channels: true,
	Sites: []site{{send, "main.(*relay).accept"}, {receive, "main.(*relay).accept"}, {receive, "main.(*relay).check"},
		{send, "main.(*relay).check"}, {send, "main.(*relay).price"}, {receive, "main.(*relay).price"}, {send, "main.(*relay).tax"},
		{receive, "main.(*relay).tax"}, {send, "main.(*relay).reserve"}, {receive, "main.(*relay).reserve"}, {send, "main.(*relay).pay"},
		{receive, "main.(*relay).pay"}, {send, "main.(*relay).pack"}, {receive, "main.(*relay).pack"}, {send, "main.(*relay).ship"},
		{receive, "main.(*relay).ship"}},
	Right: []string{fuseStages},
	builds: map[string]build{
		asFound: func(s *service) { startRelay(s, 0) },
		buffer:  func(s *service) { startRelay(s, 64) },
		fuseStages: func(s *service) {
			forever(2, func(i int) {
				done := s.counter()
				for order := uint64(i); ; {
					for range 8 {
						order = step(order)
					}
					done.add(1)
				}
			})
		},
	},
})

type relay [8]chan uint64

func step(order uint64) uint64 { return grind(order, 50) }

func startRelay(s *service, capacity int) {
	r := new(relay)
	for i := range r {
		r[i] = make(chan uint64, capacity)
	}
	go r.accept(s.counter())
	go r.check()
	go r.price()
	go r.tax()
	go r.reserve()
	go r.pay()
	go r.pack()
	go r.ship()
}

// accept has two orders under way.
func (r *relay) accept(done *counter) {
	go func() { r[0] <- 1 }()
	go func() { r[0] <- 2 }()
	for order := range r[7] {
		done.add(1)
		r[0] <- step(order)
	}
}

func (r *relay) check() {
	for order := range r[0] {
		r[1] <- step(order)
	}
}

func (r *relay) price() {
	for order := range r[1] {
		r[2] <- step(order)
	}
}

func (r *relay) tax() {
	for order := range r[2] {
		r[3] <- step(order)
	}
}

func (r *relay) reserve() {
	for order := range r[3] {
		r[4] <- step(order)
	}
}

func (r *relay) pay() {
	for order := range r[4] {
		r[5] <- step(order)
	}
}

func (r *relay) pack() {
	for order := range r[5] {
		r[6] <- step(order)
	}
}

func (r *relay) ship() {
	for order := range r[6] {
		r[7] <- step(order)
	}
}
