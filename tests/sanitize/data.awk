# Makes rows of a table for the jobs beside it: awk -v rows=N -v bad=1 -f data.awk. The same each time.
function next_number(max) {
    state = (state * 1103515245 + 12345) % 2147483648
    return int(state / 65536) % max
}
BEGIN {
    state = 42
    split("Oslo,Łódź,\"Paris, FR\",\"a \"\"b\"\"\",Ürümqi,,x", city, ",")
    city[3] = "\"Paris, FR\""; city[4] = "\"a \"\"b\"\"\""; city[5] = "\"two\nlines\""; cities = 7
    city[6] = ""; city[7] = "Ürümqi"
    print "id,city,amount,price,day,at,note"
    for (i = 1; i <= rows; i++) {
        amount = next_number(10) ? next_number(20000) - 10000 : ""
        if (bad && i % 97 == 0) amount = "1O" i
        printf "%d,%s,%s,%d.%02d,2026-%02d-%02d,2026-01-%02dT%02d:30:%02d.%03dZ,%s\n", i,
            city[1 + next_number(cities)], amount, next_number(1000), next_number(100),
            1 + next_number(12), 1 + next_number(28), 1 + next_number(31), next_number(24),
            next_number(60), next_number(1000), "note number " next_number(5000) " of many"
    }
}
