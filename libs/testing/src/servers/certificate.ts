import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Certificate {
  /** The certificate, in PEM. It is signed by itself, so clients use it as their authority. */
  certFile: string;
  /** The private key, in PEM. */
  keyFile: string;
}

/**
 * Makes a certificate for `localhost`, 127.0.0.1 and ::1 that is valid for two days, in a folder of the
 * caller. Needs the program `openssl`.
 *
 * @throws Error when there is no openssl, or with its message
 */
export function makeCertificate(dir: string): Certificate {
  const certFile = join(dir, 'cert.pem');
  const keyFile = join(dir, 'key.pem');
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1';
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-keyout', keyFile];
  const about = ['-subj', '/CN=agentmesh test', '-addext', names, '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, ...about], { stdio: 'pipe' });
  return { certFile, keyFile };
}

/** Returns the arguments of a redis-server with a second port for TLS. Clients need no certificate. */
export function redisTlsArgs({ certFile, keyFile }: Certificate, tlsPort: number): string[] {
  return Object.entries({
    'tls-port': tlsPort,
    'tls-cert-file': certFile,
    'tls-key-file': keyFile,
    'tls-ca-cert-file': certFile,
    'tls-auth-clients': 'no',
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
