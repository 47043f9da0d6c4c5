module github.com/sluice-go/sluice/stress

go 1.25

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/sluice-go/sluice v0.0.0
	go.uber.org/goleak v1.3.0
)

replace github.com/sluice-go/sluice => ../
