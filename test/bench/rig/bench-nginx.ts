import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../helpers/free-port';
import { tlsFixture } from '../../helpers/http2-client';
import { type BenchProcesses, PROXY_CPU, whenOpen } from './bench-processes';

/** A proxy that takes requests. */
export interface RunningProxy {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  /** Where it speaks TLS; the same port where it speaks nothing else. */
  readonly tlsPort?: number;
}

/** Starts nginx: one process, kept connections to the engine, no logs, bodies held in memory, answers not buffered. */
export async function startNginx(
  processes: BenchProcesses,
  enginePort: number,
): Promise<RunningProxy & { readonly tlsPort: number }> {
  const { folder } = processes;
  const [port, tlsPort] = [await freePort(), await freePort()];
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, port, tlsPort, enginePort));
  const child = processes.start(PROXY_CPU, 'nginx', ['-p', folder, '-c', file]);
  await whenOpen(port);
  return { child, pid: child.pid!, port, tlsPort };
}

function configuration(folder: string, port: number, tlsPort: number, enginePort: number): string {
  return `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 100000000; client_max_body_size 0; client_body_buffer_size 2m;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  upstream engine { server 127.0.0.1:${enginePort}; keepalive 128; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${tlsPort} ssl http2;
    ssl_certificate ${tlsFixture('server.pem')}; ssl_certificate_key ${tlsFixture('server-key.pem')}; ssl_protocols TLSv1.3;
    location / {
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
