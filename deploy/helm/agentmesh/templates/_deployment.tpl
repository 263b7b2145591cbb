{{- /*
The Deployment of a service and its ServiceAccount.
root, kind, name (of the service), user, own (its values), env, secretEnv, replicas (none: an autoscaler owns the number), python.
*/ -}}
{{- define "agentmesh.deployment" -}}
{{- $isGateway := eq .kind "gateway" -}}
{{- $pod := mergeOverwrite (deepCopy .root.Values.pod) (.own.pod | default dict) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  labels:
    {{- include "agentmesh.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels:
    {{- include "agentmesh.labels" . | nindent 4 }}
spec:
  {{- if .replicas }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      annotations:
        # A change of the common variables replaces the pods.
        checksum/env: {{ include "agentmesh.env" .root | sha256sum }}
        {{- with $pod.annotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      labels:
        app.kubernetes.io/name: {{ .name }}
        app.kubernetes.io/component: {{ .kind }}
        app.kubernetes.io/part-of: agentmesh
        {{- with $pod.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ .name }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      # More than MESH_GRACE_MS and the preStop together, so that the service ends by itself.
      terminationGracePeriodSeconds: {{ ternary 40 35 $isGateway }}
      {{- include "agentmesh.podSecurity" . | nindent 6 }}
      {{- with $pod.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $pod.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $pod.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $pod.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: {{ .name }}
        {{- $name := .name }}
        {{- range $pod.topologySpreadConstraints }}
        - {{- toYaml (merge (dict "labelSelector" (dict "matchLabels" (dict "app.kubernetes.io/name" $name))) .) | nindent 10 }}
        {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "agentmesh.image" (dict "root" .root "name" .name "image" .own.image) }}
          {{- with .root.Values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
          {{- with .own.args }}
          args:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          envFrom:
            - configMapRef:
                name: mesh
          env:
            {{- include "agentmesh.login" . | nindent 12 }}
            {{- with include "agentmesh.moreEnv" . }}{{ . | indent 12 }}{{ end }}
            {{- with include "agentmesh.moreEnv" .own }}{{ . | indent 12 }}{{ end }}
          {{- with include "agentmesh.mounts" . }}{{ . | indent 10 }}{{ end }}
          {{- if not .python }}
          ports:
            {{- if $isGateway }}
            - name: http
              containerPort: 8000
            {{- end }}
            - name: health
              containerPort: 8081
          startupProbe:
            httpGet:
              path: /livez
              port: health
            periodSeconds: 2
            failureThreshold: 30
          livenessProbe:
            httpGet:
              path: /livez
              port: health
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          {{- end }}
          {{- if $isGateway }}
          lifecycle:
            preStop:
              # Until the endpoints of the Service have forgotten this pod, new connections still come here.
              sleep:
                seconds: 5
          {{- end }}
          resources:
            {{- toYaml $pod.resources | nindent 12 }}
          {{- include "agentmesh.containerSecurity" . | nindent 10 }}
      {{- with include "agentmesh.volumes" . }}{{ . | indent 6 }}{{ end }}
{{- end }}

{{- /* The disruption budget of a service, one of whose replicas stays. root, name. */ -}}
{{- define "agentmesh.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels:
    {{- include "agentmesh.labels" . | nindent 4 }}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
{{- end }}

{{- /* The autoscaler of a service by its queues. root, name, consumer, streams, work, min, max. */ -}}
{{- define "agentmesh.scaler" -}}
{{- $values := .root.Values -}}
{{- $consumer := .consumer -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ .name }}
  labels:
    {{- include "agentmesh.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    name: {{ .name }}
  minReplicaCount: {{ .min }}
  maxReplicaCount: {{ .max }}
  pollingInterval: {{ $values.autoscaling.pollingInterval }}
  cooldownPeriod: {{ $values.autoscaling.cooldownPeriod }}
  triggers:
    {{- range .streams }}
    - type: nats-jetstream
      metadata:
        # The headless service: KEDA asks the server that leads the consumer.
        natsServerMonitoringEndpoint: {{ ternary (printf "nats.%s.svc.cluster.local:8222" $.root.Release.Namespace) $values.nats.monitoring (index $values "nats-server" "enabled") }}
        account: {{ $values.nats.account | default (upper $values.mesh.namespace) }}
        stream: {{ printf "%s_%s" (upper $values.mesh.namespace) . }}
        consumer: {{ $consumer }}
        # Runs in work count too, so this is how many a replica should hold.
        lagThreshold: {{ $values.autoscaling.lagThreshold | quote }}
        activationLagThreshold: "0"
    {{- end }}
    {{- if $values.autoscaling.prometheus }}
    {{- $of := printf "namespace=\"%s\",kind=\"%s\",name=\"%s\"" .root.Release.Namespace .work $consumer }}
    - type: prometheus
      metadata:
        serverAddress: {{ $values.autoscaling.prometheus }}
        query: max(agentmesh_queue_oldest_age{ {{- $of -}} }) * (max(agentmesh_queue_messages{ {{- $of -}} ,state="waiting"}) > bool 0)
        threshold: {{ $values.autoscaling.ageSeconds | quote }}
        activationThreshold: "0"
    {{- end }}
{{- end }}
