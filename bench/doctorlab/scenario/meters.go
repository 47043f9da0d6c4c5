package main

import "time"

// Many cheap channels.
var _ = register(scenario{
	Name: "meters",
	About: "A controller reads 96 meters. Each has a ticker, a goroutine that reads it, a goroutine that averages, and a " +
		"channel between them for every sixteenth reading: the scheduler and the timers take most of the CPU time, and " +
		"no channel takes much.",
	Channels: true,
	Sites:    []site{{receive, "main.(*meter).read"}, {send, "main.(*meter).read"}, {receive, "main.(*meter).average"}},
	Right:    []string{batch, workerPool},
	builds: map[string]build{
		asFound:    func(s *service) { startMeters(s, 0) },
		buffer:     func(s *service) { startMeters(s, 64) },
		batch:      metersInBatches,
		workerPool: metersByFew,
		fuseStages: metersFused,
	},
})

const (
	meterCount = 96
	meterTick  = 20 * time.Microsecond
	meterWork  = 25
	meterMean  = 16 // readings per value in the channel
	// With a remedy, a tick of a millisecond takes the readings since the last one.
	slowTick   = time.Millisecond
	meterSlice = 64 // readings per slow tick
)

type meter struct {
	readings chan uint64
	mean     uint64
}

func startMeters(s *service, capacity int) {
	for i := range meterCount {
		m := &meter{readings: make(chan uint64, capacity)}
		go m.read(i)
		go m.average(s.counter())
	}
}

func (m *meter) read(i int) {
	ticks := time.NewTicker(meterTick)
	defer ticks.Stop()
	reading, sum := uint64(i), uint64(0)
	for n := 1; ; n++ {
		<-ticks.C
		reading = grind(reading, meterWork)
		if sum += reading >> 8; n%meterMean == 0 {
			m.readings <- sum
			sum = 0
		}
	}
}

func (m *meter) average(done *counter) {
	for sum := range m.readings {
		m.add(sum / meterMean)
		done.add(meterMean)
	}
}

func (m *meter) add(reading uint64) { m.mean = (15*m.mean + reading>>4) / 16 }

// metersInBatches wakes a meter's goroutines once for many readings.
func metersInBatches(s *service) {
	for i := range meterCount {
		m, readings, done := new(meter), make(chan []uint64), s.counter()
		go func() {
			ticks := time.NewTicker(slowTick)
			defer ticks.Stop()
			for reading := uint64(i); ; {
				<-ticks.C
				values := make([]uint64, meterSlice)
				for n := range values {
					reading = grind(reading, meterWork)
					values[n] = reading
				}
				readings <- values
			}
		}()
		go func() {
			for values := range readings {
				for _, reading := range values {
					m.add(reading)
				}
				done.add(len(values))
			}
		}()
	}
}

// metersByFew serves all meters with four goroutines and no channel.
func metersByFew(s *service) {
	const few = 4
	forever(few, func(first int) {
		var meters [meterCount / few]meter
		var last [meterCount / few]uint64
		ticks, done := time.NewTicker(slowTick), s.counter()
		for range ticks.C {
			for i := range meters {
				for range meterSlice {
					last[i] = grind(last[i]+uint64(first), meterWork)
					meters[i].add(last[i])
				}
			}
			done.add(len(meters) * meterSlice)
		}
	})
}

// metersFused averages in the goroutine that reads.
func metersFused(s *service) {
	for i := range meterCount {
		m, done := new(meter), s.counter()
		go func() {
			ticks := time.NewTicker(meterTick)
			defer ticks.Stop()
			for reading := uint64(i); ; {
				<-ticks.C
				reading = grind(reading, meterWork)
				m.add(reading)
				done.add(1)
			}
		}()
	}
}
