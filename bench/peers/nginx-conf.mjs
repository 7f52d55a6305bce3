/**
 * Returns an efficient nginx configuration for one core. Connections to the upstream and the session service stay alive, the session
 * service gets only the cookie, and no access log is written.
 * @param {{ folder: string, port: number, upstream: string, sessions: string }} settings
 */
export function toNginxConf({ folder, port, upstream, sessions }) {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `
    daemon off;
    pid ${folder}/nginx.pid;
    worker_processes 1;
    error_log stderr error;
    events { worker_connections 4096; }
    http {
      ${temporary.join('\n      ')}
      access_log off;
      server_tokens off;
      keepalive_requests 1000000;
      upstream service { server ${upstream}; keepalive 128; keepalive_requests 1000000; keepalive_timeout 600s; }
      upstream sessions { server ${sessions}; keepalive 128; keepalive_requests 1000000; keepalive_timeout 300s; }
      server {
        listen 127.0.0.1:${port};
        location /api/ {
          auth_request /session;
          auth_request_set $authorization $upstream_http_authorization;
          proxy_pass http://service;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Cookie "";
          proxy_set_header Authorization $authorization;
          proxy_hide_header Set-Cookie;
          proxy_buffers 8 16k;
        }
        location = /session {
          internal;
          proxy_pass http://sessions;
          proxy_http_version 1.1;
          proxy_pass_request_body off;
          proxy_pass_request_headers off;
          proxy_set_header Connection "";
          proxy_set_header Cookie $http_cookie;
        }
        location = /sign-in {
          proxy_pass http://sessions;
        }
      }
    }
  `;
}
