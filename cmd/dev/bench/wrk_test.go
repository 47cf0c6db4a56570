package main

import "testing"

func TestReadWrk(t *testing.T) {
	const whole = `Running 2s test @ http://127.0.0.1:8080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     3.09ms    1.51ms  21.53ms   77.20%
    Req/Sec    20.91k   846.26    22.33k    70.00%
  41593 requests in 2.00s, 8.45MB read
`
	rate, err := readWrk([]byte(whole + "Requests/sec:  20789.52\nTransfer/sec:      4.22MB\n"))
	if err != nil || rate != 20789.52 {
		t.Errorf("the rate is %v, %v", rate, err)
	}
	for name, output := range map[string]string{
		"refused requests": whole + "  Non-2xx or 3xx responses: 3\nRequests/sec:  20789.52\n",
		"broken sockets": whole + "  Socket errors: connect 0, read 12, write 0, timeout 0\nRequests/sec:  " +
			"20789.52\n",
		"no rate": whole,
	} {
		if rate, err := readWrk([]byte(output)); err == nil {
			t.Errorf("with %s the rate is %v", name, rate)
		}
	}
}
