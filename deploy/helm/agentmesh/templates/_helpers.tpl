{{- define "agentmesh.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: agentmesh
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* The image of a service: what it names itself, and the rest from the image of all. A digest belongs to the version that it was named with. */ -}}
{{- define "agentmesh.image" -}}
{{- $own := .image | default dict -}}
{{- $all := .root.Values.image -}}
{{- $version := ternary $own $all (or (hasKey $own "tag") (hasKey $own "digest") (hasKey $own "repository")) -}}
{{- $version = ternary $version (merge (dict "tag" $all.tag) $version) (hasKey $version "tag") -}}
{{- $registry := $own.registry | default $all.registry -}}
{{- $repository := required (printf "%s has no image: set image.repository, for all services or for this one" .name) ($own.repository | default $all.repository) -}}
{{- if $registry }}{{ $registry }}/{{ end }}{{ $repository }}
{{- if $version.digest }}@{{ $version.digest }}
{{- else }}:{{ required (printf "%s has no version: set image.digest or image.tag, for all services or for this one" .name) $version.tag }}{{ end }}
{{- end }}

{{- /* The variables that all services have in common. */ -}}
{{- define "agentmesh.env" -}}
{{- $own := dict "NATS_URL" (ternary "nats://nats:4222" .Values.nats.url (index .Values "nats-server" "enabled")) "MESH_NAMESPACE" .Values.mesh.namespace "MESH_LOG_LEVEL" "info" "MESH_LOG_FORMAT" "json" "MESH_HEALTH_HOST" "0.0.0.0" "MESH_HEALTH_PORT" "8081" "MESH_MAX_CONCURRENCY" (toString .Values.autoscaling.lagThreshold) "MESH_GRACE_MS" "25000" -}}
{{- $_ := set $own "MESH_REDIS_PREFIX" (ternary "am" (printf "am-%s" .Values.mesh.namespace) (eq .Values.mesh.namespace "mesh")) -}}
{{- toYaml (merge (deepCopy .Values.mesh.env) $own) -}}
{{- end }}

{{- /* The variables by which a service logs in. */ -}}
{{- define "agentmesh.login" -}}
{{- $secret := printf "nats-%s" (.user | replace "_" "-") -}}
{{- if eq .root.Values.nats.login "creds" -}}
- name: MESH_NATS_CREDS
  value: /etc/agentmesh/nats/creds
{{- else -}}
- name: MESH_NATS_USER
  value: {{ ternary .user (printf "%s:%s" .root.Values.mesh.namespace .user) (eq .root.Values.mesh.namespace "mesh") }}
- name: MESH_NATS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: password
{{- end }}
{{- if not .python }}
{{- if index .root.Values "redis-server" "enabled" }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: redis-{{ .user | replace "_" "-" }}
      key: password
- name: REDIS_URL
  value: redis://{{ .user }}:$(REDIS_PASSWORD)@redis:6379
{{- else }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: redis-{{ .user | replace "_" "-" }}
      key: url
{{- end }}
{{- end }}
{{- if .root.Values.ca.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/agentmesh/ca/{{ .root.Values.ca.key }}
{{- end }}
{{- end }}

{{- define "agentmesh.mounts" -}}
{{- if or (eq .root.Values.nats.login "creds") .root.Values.ca.configMap }}
volumeMounts:
  {{- if eq .root.Values.nats.login "creds" }}
  - name: nats
    mountPath: /etc/agentmesh/nats
    readOnly: true
  {{- end }}
  {{- if .root.Values.ca.configMap }}
  - name: ca
    mountPath: /etc/agentmesh/ca
    readOnly: true
  {{- end }}
{{- end }}
{{- end }}

{{- define "agentmesh.volumes" -}}
{{- if or (eq .root.Values.nats.login "creds") .root.Values.ca.configMap }}
volumes:
  {{- if eq .root.Values.nats.login "creds" }}
  - name: nats
    secret:
      secretName: nats-{{ .user | replace "_" "-" }}
      items:
        - key: creds
          path: creds
  {{- end }}
  {{- if .root.Values.ca.configMap }}
  - name: ca
    configMap:
      name: {{ .root.Values.ca.configMap }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "agentmesh.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "agentmesh.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end }}

{{- /* Tells whether a server is a part of this release: then nothing can be provisioned before the release is there. */ -}}
{{- define "agentmesh.hasServers" -}}
{{- if or (index .Values "nats-server" "enabled") (index .Values "redis-server" "enabled") }}yes{{ end -}}
{{- end }}

{{- /* Variables from a map, and variables from Secrets. */ -}}
{{- define "agentmesh.moreEnv" -}}
{{- range $name, $value := .env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range .secretEnv }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
{{- end }}

{{- /* Refuses services whose names or logins cannot be. */ -}}
{{- define "agentmesh.validate" -}}
{{- if and (index .Values "nats-server" "enabled") (ne (int .Values.provision.streamReplicas) 1) }}{{ fail "nats-server is one server: set provision.streamReplicas to 1, or run a cluster of NATS yourself" }}{{ end -}}
{{- if and .Values.secrets.create (eq .Values.nats.login "creds") }}{{ fail "secrets.create makes passwords and no accounts as JWTs: set nats.login to password, or make the Secrets yourself" }}{{ end -}}
{{- if and .Values.secrets.create (not (index .Values "redis-server" "enabled")) }}{{ fail "secrets.create makes passwords, and the Redis that you run has its own: set redis-server.enabled, or make the Secrets yourself" }}{{ end -}}
{{- if and .Values.secrets.create (not (index .Values "nats-server" "enabled")) }}{{ fail "secrets.create makes passwords, and the NATS that you run has its own: set nats-server.enabled, or make the Secrets yourself" }}{{ end -}}
{{- $names := list "gateway" "keeper" "provision" "mesh" "nats" "redis" -}}
{{- range .Values.agents -}}
{{- $name := .service | default (.name | replace "_" "-") -}}
{{- if has $name $names }}{{ fail (printf "agent %s: %s is the name of another service; set service" .name $name) }}{{ end -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- range .Values.tools -}}
{{- $name := .service | default (printf "%s-tool" (.name | replace "_" "-")) -}}
{{- if has $name $names }}{{ fail (printf "tool %s: %s is the name of another service; set service" .name $name) }}{{ end -}}
{{- $names = append $names $name -}}
{{- if and (hasKey . "maxReplicas") (not .longRunning) }}{{ fail (printf "tool %s: only a long-running tool has a queue to scale by; set longRunning, or leave maxReplicas out" .name) }}{{ end -}}
{{- end -}}
{{- end }}
