package main

// A select with many cases.
var _ = register(scenario{
	Name: "hub",
	About: "A hub selects among the channels of 32 sources. Each iteration locks all 32, and a waiting " +
		"select is in the wait queues of all of them.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*hub).collect"}, {send, "main.(*hub).source"}},
	Right:    []string{mergeChannels, batch},
	builds: map[string]build{
		asFound: func(s *service) { startHub(s, 0) },
		buffer:  func(s *service) { startHub(s, 64) },
		batch:   hubInBatches,
		mergeChannels: func(s *service) {
			h := &hub{merged: make(chan event, 128)}
			go h.collectMerged(s.counter())
			forever(hubSources, h.sourceMerged)
		},
	},
})

const (
	hubSources = 32
	hubBatch   = 32
)

// An event is a message from a source.
type event struct {
	source int
	value  uint64
}

type hub struct {
	in     [hubSources]chan event
	merged chan event // replaces in
	sums   [hubSources]uint64
}

func startHub(s *service, capacity int) {
	h := new(hub)
	for i := range h.in {
		h.in[i] = make(chan event, capacity)
	}
	go h.collect(s.counter())
	forever(hubSources, h.source)
}

func (h *hub) source(i int) {
	for value := uint64(i); ; {
		value = grind(value, 10)
		h.in[i] <- event{i, value}
	}
}

func (h *hub) collect(done *counter) {
	for {
		var e event
		select {
		case e = <-h.in[0]:
		case e = <-h.in[1]:
		case e = <-h.in[2]:
		case e = <-h.in[3]:
		case e = <-h.in[4]:
		case e = <-h.in[5]:
		case e = <-h.in[6]:
		case e = <-h.in[7]:
		case e = <-h.in[8]:
		case e = <-h.in[9]:
		case e = <-h.in[10]:
		case e = <-h.in[11]:
		case e = <-h.in[12]:
		case e = <-h.in[13]:
		case e = <-h.in[14]:
		case e = <-h.in[15]:
		case e = <-h.in[16]:
		case e = <-h.in[17]:
		case e = <-h.in[18]:
		case e = <-h.in[19]:
		case e = <-h.in[20]:
		case e = <-h.in[21]:
		case e = <-h.in[22]:
		case e = <-h.in[23]:
		case e = <-h.in[24]:
		case e = <-h.in[25]:
		case e = <-h.in[26]:
		case e = <-h.in[27]:
		case e = <-h.in[28]:
		case e = <-h.in[29]:
		case e = <-h.in[30]:
		case e = <-h.in[31]:
		}
		h.sums[e.source] += e.value
		done.add(1)
	}
}

func (h *hub) sourceMerged(i int) {
	for value := uint64(i); ; {
		value = grind(value, 10)
		h.merged <- event{i, value}
	}
}

func (h *hub) collectMerged(done *counter) {
	for e := range h.merged {
		h.sums[e.source] += e.value
		done.add(1)
	}
}

// hubInBatches keeps the select, over channels of slices.
func hubInBatches(s *service) {
	h := new(hubOfSlices)
	for i := range h.in {
		h.in[i] = make(chan []event)
	}
	go h.collect(s.counter())
	forever(hubSources, h.source)
}

type hubOfSlices struct {
	in   [hubSources]chan []event
	sums [hubSources]uint64
}

func (h *hubOfSlices) source(i int) {
	for value := uint64(i); ; {
		events := make([]event, hubBatch)
		for at := range events {
			value = grind(value, 10)
			events[at] = event{i, value}
		}
		h.in[i] <- events
	}
}

func (h *hubOfSlices) collect(done *counter) {
	for {
		var events []event
		select {
		case events = <-h.in[0]:
		case events = <-h.in[1]:
		case events = <-h.in[2]:
		case events = <-h.in[3]:
		case events = <-h.in[4]:
		case events = <-h.in[5]:
		case events = <-h.in[6]:
		case events = <-h.in[7]:
		case events = <-h.in[8]:
		case events = <-h.in[9]:
		case events = <-h.in[10]:
		case events = <-h.in[11]:
		case events = <-h.in[12]:
		case events = <-h.in[13]:
		case events = <-h.in[14]:
		case events = <-h.in[15]:
		case events = <-h.in[16]:
		case events = <-h.in[17]:
		case events = <-h.in[18]:
		case events = <-h.in[19]:
		case events = <-h.in[20]:
		case events = <-h.in[21]:
		case events = <-h.in[22]:
		case events = <-h.in[23]:
		case events = <-h.in[24]:
		case events = <-h.in[25]:
		case events = <-h.in[26]:
		case events = <-h.in[27]:
		case events = <-h.in[28]:
		case events = <-h.in[29]:
		case events = <-h.in[30]:
		case events = <-h.in[31]:
		}
		for _, e := range events {
			h.sums[e.source] += e.value
		}
		done.add(len(events))
	}
}
