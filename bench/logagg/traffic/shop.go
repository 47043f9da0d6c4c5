package traffic

// The vocabulary of the shop's logs.
var (
	services       = []string{"web", "search", "cart", "checkout", "images", "accounts", "mail"}
	serviceWeights = []int{30, 20, 15, 8, 15, 8, 4}

	methods       = []string{"GET", "POST", "HEAD", "PUT", "DELETE"}
	methodWeights = []int{80, 14, 3, 2, 1}

	statuses      = []int{200, 201, 206, 301, 302, 304, 400, 401, 403, 404, 429, 500, 502, 503}
	statusWeights = []int{820, 20, 5, 10, 15, 50, 8, 10, 6, 40, 4, 6, 3, 3}

	paths = []string{"/", "/items/", "/items?page=", "/search?q=lamp&page=", "/cart/lines/", "/orders/", "/static/app.js?v=",
		"/images/thumb/", "/api/v2/stock/", "/account/session/"}
	referrers = []string{"-", "-", "https://shop.example/", "https://shop.example/search?q=lamp", "https://news.example/deals"}
	agents    = []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
		"curl/8.17.0",
		"Monitor/2.3 (+https://status.shop.example/)",
	}

	// garbage contains lines that are not events. None of them contains a line
	// feed.
	garbage = []string{
		"panic: runtime error: index out of range [3] with length 3",
		"<999>1 - - - - - - priority out of range",
		"<134>1 2026-11-21T15:04:05Z web-00 web 4000 - - \x00\x01\xfe\xff\x80 binary",
		`<134>1 2026-11-21T15:04:05Z web-00 web 4000 - - {"time":"2026-11-21T15:04:05Z","status":`,
		`<134>Nov 21 15:04:05 web-00 web[4000]: 203.0.113.9 - - [31/Feb/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5 "-" "-"`,
		`<134>Nov 21 15:04:05 web-00 web[4000]: 203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 99 5 "-" "-"`,
	}
)
