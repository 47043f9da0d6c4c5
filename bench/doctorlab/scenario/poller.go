package main

// Select with default in a loop.
var _ = register(scenario{
	Name: "poller",
	About: "A scheduler polls the queues of four tenants, using select with default, in an endless loop. " +
		"That takes a processor from the producers.",
	Channels: true,
	Sites:    []site{{pollReceive, "main.(*poller).poll"}},
	Right:    []string{block, mergeChannels},
	builds: map[string]build{
		asFound: func(s *service) {
			p := startTenants(8)
			go p.poll(s.counter())
		},
		buffer: func(s *service) {
			p := startTenants(1024)
			go p.poll(s.counter())
		},
		block: func(s *service) {
			p := startTenants(8)
			go p.receive(s.counter())
		},
		mergeChannels: func(s *service) {
			merged := make(chan uint64, 32)
			p := new(poller)
			for i := range p.queues {
				p.queues[i] = merged
				go p.tenant(i)
			}
			done := s.counter()
			go func() {
				for range merged {
					done.add(1)
				}
			}()
		},
	},
})

// tenantSteps is the work per request of a tenant, in steps of grind.
const tenantSteps = 10_000

type poller struct {
	queues [4]chan uint64
}

func startTenants(capacity int) *poller {
	p := new(poller)
	for i := range p.queues {
		p.queues[i] = make(chan uint64, capacity)
		go p.tenant(i)
	}
	return p
}

func (p *poller) tenant(i int) {
	for v := uint64(i); ; {
		v = grind(v, tenantSteps)
		p.queues[i] <- v
	}
}

func (p *poller) poll(done *counter) {
	for {
		for _, queue := range p.queues {
			select {
			case <-queue:
				done.add(1)
			default:
			}
		}
	}
}

func (p *poller) receive(done *counter) {
	for {
		select {
		case <-p.queues[0]:
		case <-p.queues[1]:
		case <-p.queues[2]:
		case <-p.queues[3]:
		}
		done.add(1)
	}
}
