package main

import "time"

// A receiver that sleeps, beside goroutines that sleep too.
var _ = register(scenario{
	Name: "sensors",
	About: "Twenty sensors send readings to one recorder, which waits a millisecond and a half for its disk " +
		"after each. Six goroutines with other duties also sleep most of the time: they have nothing to do " +
		"with the queue.",
	Instead: downstreamIO,
	Sites:   []site{{send, "main.(*sensors).measure"}},
	Ask:     []string{"trace"},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startSensors(s, 16, 1) },
		buffer:        func(s *service) { startSensors(s, 1024, 1) },
		moreReceivers: func(s *service) { startSensors(s, 16, 4) },
	},
})

const (
	sensorCount   = 20
	diskTakes     = 1500 * time.Microsecond
	heartbeatsOf  = 4
	heartbeatEach = 200 * time.Millisecond
)

type sensors struct {
	readings chan uint64
	alive    [heartbeatsOf]time.Time
}

func startSensors(s *service, capacity, recorders int) {
	v := &sensors{readings: make(chan uint64, capacity)}
	for range recorders {
		go v.record(s.counter())
	}
	forever(sensorCount, v.measure)
	forever(heartbeatsOf, v.beat)
	go v.check(time.NewTicker(heartbeatEach))
	go v.check(time.NewTicker(3 * heartbeatEach))
}

func (v *sensors) measure(i int) {
	for reading := uint64(i); ; {
		reading = grind(reading, 1000)
		v.readings <- reading
	}
}

func (v *sensors) record(done *counter) {
	for reading := range v.readings {
		sink(grind(reading, 100))
		time.Sleep(diskTakes)
		done.add(1)
	}
}

// beat and check have nothing to do with the readings.
func (v *sensors) beat(i int) {
	for {
		v.alive[i] = time.Now()
		time.Sleep(heartbeatEach)
	}
}

func (v *sensors) check(tick *time.Ticker) {
	for range tick.C {
		sink(grind(uint64(time.Now().Unix()), 100))
	}
}
