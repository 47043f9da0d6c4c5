module github.com/sluice-go/sluice/stress

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/spill v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/stretchr/testify v1.11.1 // indirect
	golang.org/x/sys v0.45.0 // indirect
)

replace github.com/sluice-go/sluice => ../

replace github.com/sluice-go/sluice/spill => ../spill
