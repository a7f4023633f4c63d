// A web server that answers with a file, so that a synced change can be seen at once.
package main

import (
	"flag"
	"log"
	"net/http"
)

func main() {
	check := flag.Bool("check", false, "only check that the program starts")
	flag.Parse()
	if *check {
		log.Println("ok")
		return
	}
	http.Handle("/", http.FileServer(http.Dir("/app/static")))
	log.Fatal(http.ListenAndServe(":8080", nil))
}
