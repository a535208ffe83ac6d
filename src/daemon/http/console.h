/* console.h: serves the console's page and its files, which are compiled into meted. */
#pragma once

struct http_request;
struct http_reply;

/* GET / */
void console_page(const struct http_request *request, struct http_reply *reply);
/* GET /console/NAME */
void console_file(const struct http_request *request, struct http_reply *reply);
